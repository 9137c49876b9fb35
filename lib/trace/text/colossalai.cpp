// ColossalAI: amp/naive_amp/grad_scaler/dynamic_grad_scaler.py, zero/low_level.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField colossalai_adjusted[] = {
    {after, "loss scale is adjusted to", true},
};

constexpr LineShape colossalai_lines[] = {
    {.kind = "colossalai-log",
     .needle = "loss scale is adjusted to",
     .also = "Overflow occurs",
     .fields = colossalai_adjusted,
     .overflow = true,
     .part = Part::adjusted},
    {.kind = "colossalai-log",
     .needle = "loss scale is adjusted to",
     .also = "No overflow for consecutive",
     .fields = colossalai_adjusted,
     .overflow = false},
    {.kind = "colossalai-log", .needle = "Found overflow. Skip step", .overflow = true, .part = Part::skip},
};

}  // namespace

std::span<const LineShape> colossalai_shapes() {
  return colossalai_lines;
}

}  // namespace tare
