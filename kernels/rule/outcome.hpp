// What a rule gives back, and why it may refuse to go on. Rules run on the device too, so nothing is thrown.
#pragma once

#include <cstdint>

#include "kernels/host_device.hpp"

namespace tare::rule {

/// Where the framework's own code raises. The state that comes with it is what the framework's object holds then.
enum class Raised : int32_t {
  nothing = 0,
  scale_at_minimum = 1,     // DeepSpeed: overflow with the scale already at min_scale
  minimum_reached = 2,      // fairseq's FloatingPointError: back-off would end at or below min_loss_scale
  too_many_overflows = 3,   // MindSpore's host manager: more than bad_step_max overflows in a row
  division_by_zero = 4,     // a scale, factor, window or count of zero that the framework divides by
  mixed_types = 5,          // jmp: a float16 or bfloat16 scale against the float32 default of min_loss_scale
  no_inf_checks = 6,        // torch: update() without any found_inf recorded
  scale_too_large = 7,      // torch: a new scale that float32 does not reach
  window_outside_list = 8,  // mindformers: a stored list_index that the window list does not have
  invalid_scale = 9,        // layerwise: statistics that give no finite scale
  no_scaler = 10,           // Megatron without a scaler: there is no scale that could be set
};

/// The state after one update. `skip`: whether the framework leaves the parameters alone in this step.
template <class State>
struct Outcome {
  State state;
  Raised raised = Raised::nothing;
  bool skip = false;
};

}  // namespace tare::rule
