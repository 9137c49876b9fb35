// A zip archive from nothing: members stored as they are, without compression.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/bytes.hpp"

namespace tare {

struct NewMember {
  std::string name;
  Bytes contents;
};

/// Every payload starts at a multiple of `alignment`, filled up as torch does, in an extra field; 1: no filling.
/// Members and the whole must stay below 4 GiB.
Bytes new_zip(const std::vector<NewMember>& members, std::size_t alignment);

}  // namespace tare
