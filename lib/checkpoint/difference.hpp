// What differs between the scaler state of two checkpoints.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

/// One field, or (where `field` is empty) a whole scaler that only one side has.
struct Difference {
  std::string dialect;
  std::string path;
  std::string field;
  std::optional<Value> a;  ///< nothing: not there
  std::optional<Value> b;
};

/// Scalers are compared where dialect and path are the same; where each side has just one more of a dialect, those are
/// compared too. Copies that disagree are compared by their first entry.
std::vector<Difference> differences(const Checkpoint& a, const Checkpoint& b);

}  // namespace tare
