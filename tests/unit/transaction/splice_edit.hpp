// Edits that write a file anew, of files that may be large: no more of them is read than changes.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "tests/catch.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {

inline Bytes read_at(const std::string& path, std::uint64_t offset, std::size_t size) {
  Bytes bytes(size);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(::pread(file, bytes.data(), size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size));
  ::close(file);
  return bytes;
}

/// `size` bytes become `after`; planned on the file as it is.
inline FileEdit splice_edit(const std::string& path, std::uint64_t offset, std::size_t size, const Bytes& after) {
  FileEdit edit{path, {{}, {}, Splice{offset, read_at(path, offset, size), after, {}}}, {}};
  edit.planned = stat_of(path);
  return edit;
}

}  // namespace tare::test
