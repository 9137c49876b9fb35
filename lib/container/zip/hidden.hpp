// Bytes of a zip archive that its directory does not speak of, and records whose headers say something else than it: a
// reader that goes from record to record sees another archive than one that asks the directory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/container/zip/zip.hpp"

namespace tare {

/// A record that only an older directory names, which still lies in the file: an edit that needs more room appends the
/// record anew, and a directory behind it.
struct FormerMember {
  std::shared_ptr<ZipArchive> archive;  ///< as it was then
  const ZipEntry* entry;                ///< of that
};

struct HiddenInZip {
  std::vector<std::string> told;  ///< in words, at most a few
  std::vector<FormerMember> former;
};

/// Nothing is told where every byte is a record's, a directory's or an end record's; what stands in `former` is for the
/// caller to judge. Reads all local headers. Throws as ZipArchive::record does.
HiddenInZip hidden_in_zip(const ZipArchive& archive);

}  // namespace tare
