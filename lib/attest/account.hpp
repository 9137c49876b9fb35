// Whether a file of some format holds what the format says and nothing else, and is read by all loaders alike.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/container/container.hpp"
#include "lib/container/zip/zip.hpp"

namespace tare {

struct Account {
  std::uint64_t calls = 0;              ///< opcodes of its pickles that call, instantiate or give state
  bool is_beyond_weights_only = false;  ///< its pickles have opcodes that weights_only does not read
  std::vector<std::string> doubts;      ///< in words
  std::vector<GlobalName> globals;      ///< that stand behind the end of its pickles, for loaders that go on
};

/// `container` was opened from `source` (of several files, the one that it is opened by).
Account account_of(const std::shared_ptr<const Source>& source, const Container& container);

/// Of a zip of any kind: bytes in no member, members that are there twice, that do not check out ...; in words. Throws
/// `refused` for a bomb.
std::vector<std::string> doubts_of_zip(const ZipArchive& archive);

}  // namespace tare
