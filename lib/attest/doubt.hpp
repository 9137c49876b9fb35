// Why a file, or a part of it, may be more than it seems, and what loading it would name then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/container/container.hpp"

namespace tare {

struct Doubt {
  std::string why;                  ///< in words; empty: there is none
  std::vector<GlobalName> globals;  ///< what would be imported; where empty, nothing that could be followed
  std::uint64_t calls = 0;          ///< opcodes that call, instantiate or give state
  bool has_unnamed = false;         ///< something would be imported, too, that only running it would tell
};

}  // namespace tare
