// Which keys and places of a tree count, by what it was read from.
#pragma once

#include <cstdint>

namespace tare {

enum class TreeOrigin : std::uint8_t {
  pickle = 1,  ///< and what keeps values as pickles do: torch's files, msgpack
  json = 2,    ///< as a whole, or the header of safetensors
};

}  // namespace tare
