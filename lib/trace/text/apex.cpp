// NVIDIA Apex: apex/amp/{handle,scaler}.py, fp16_utils/fp16_optimizer.py. The scale is the one that the step left; no
// step number and no rank, though every rank prints its own.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField apex_amp[] = {
    {scaler, "loss scaler "},
    {after, "reducing loss scale to", true},
};

constexpr LineShape apex_lines[] = {
    {.kind = "apex-log", .needle = "reducing loss scale to", .fields = apex_amp, .overflow = true},
    {.kind = "apex-log", .needle = "radient overflow, skipping update", .overflow = true},
};

}  // namespace

std::span<const LineShape> apex_shapes() {
  return apex_lines;
}

}  // namespace tare
