// The greatest magnitudes that FP8 tensors had, step by step: from the histories in a checkpoint, or from a series that
// was logged.
#pragma once

#include <string>
#include <vector>

#include "kernels/dtype.hpp"
#include "lib/checkpoint/checkpoint.hpp"
#include "lib/trace/trace.hpp"

namespace tare {

/// Of one tensor.
struct Amaxes {
  std::string name;           ///< "layers.0.fc1 input", or the series'. Not escaped
  float format_max = 0;       ///< the largest number of its format
  std::vector<float> values;  ///< the oldest first; of finished steps, none that stands for "not yet"
};

/// Of each tensor in a checkpoint whose history has an amax: the last steps before it was saved.
std::vector<Amaxes> amaxes_of(const Checkpoint& checkpoint);

/// Of a trace that is one tensor's amaxes, as read_series gives it.
Amaxes amaxes_of(const Trace& trace, const std::string& name, Dtype format);

}  // namespace tare
