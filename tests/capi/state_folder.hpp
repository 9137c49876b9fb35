// Options for calls that write: with a key of the tests' own, not one in the home of whoever runs them.
#pragma once

#include <string>

#include "tests/places.hpp"

/// `options` (JSON, or null) with a "state_folder".
inline std::string with_state_folder(const char* options) {
  std::string json = options == nullptr ? "{}" : options;
  const std::size_t brace = json.find('{');
  if (brace == std::string::npos) return json;
  const bool is_empty = json.find_first_not_of(' ', brace + 1) == json.find('}', brace + 1);
  return json.insert(brace + 1, std::string("\"state_folder\":\"" TARE_TEST_DATA "/state\"") + (is_empty ? "" : ","));
}
