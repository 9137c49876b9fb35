// ParlAI: utils/fp16.py, FP16OptimizerWrapper and MemoryEfficientFP16Optimizer. The scale is the one that the step
// left; no step number.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField parlai_overflow[] = {{after, "loss scale to", true}};

constexpr LineShape parlai_lines[] = {
    {.kind = "parlai-log", .needle = "Overflow: setting loss scale to", .fields = parlai_overflow, .overflow = true},
};

}  // namespace

std::span<const LineShape> parlai_shapes() {
  return parlai_lines;
}

}  // namespace tare
