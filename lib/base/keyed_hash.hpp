// A hash of names that come out of files: keyed anew in every process, so that nobody can prepare names which all
// collide, and make a table of them as slow as a list.
#pragma once

#include <cstddef>
#include <string_view>

namespace tare {

/// For std::unordered_map and its kin.
struct KeyedHash {
  std::size_t operator()(std::string_view name) const noexcept;
};

}  // namespace tare
