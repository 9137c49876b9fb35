// The end of a zip archive: where its directory is and what stands behind it.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/base/finding.hpp"
#include "lib/base/source.hpp"

namespace tare {

struct ZipEnd {
  Span directory;
  std::uint64_t count = 0;  ///< of rows
  Bytes comment;
  Bytes directory_bytes;  ///< of read_zip_end alone
  std::vector<Finding> findings;
};

/// Finds the last end record within 65,535 bytes of the end, as miniz does, and reads the directory that it names.
/// Throws `corrupt` where there is none or its numbers do not fit the file, `refused` where they exceed the limits.
ZipEnd read_zip_end(const Source& source);

/// The same, without reading the directory.
ZipEnd find_zip_end(const Source& source);

}  // namespace tare
