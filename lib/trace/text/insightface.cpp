// insightface: recognition/arcface_torch/utils/utils_callbacks.py, which rounds the scale.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField insightface_moment[] = {
    {loss, "Loss "},
    {step, "Global Step", true},
    {printed, "Fp16 Grad Scale", true},
};

constexpr LineShape insightface_lines[] = {
    {.kind = "insightface-log", .needle = "Fp16 Grad Scale", .fields = insightface_moment, .meaning = Meaning::moment},
};

}  // namespace

std::span<const LineShape> insightface_shapes() {
  return insightface_lines;
}

}  // namespace tare
