// What an edit in a store would ask of it.
#pragma once

#include <cstdint>
#include <string>

namespace tare {

/// One request that an edit would make to change something.
struct PlannedRequest {
  std::string method;
  std::string object;
  std::string meaning;
  std::uint64_t sent = 0;    ///< bytes of its body
  std::uint64_t copied = 0;  ///< bytes that the store copies itself
};

}  // namespace tare
