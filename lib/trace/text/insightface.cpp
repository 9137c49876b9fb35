// insightface: recognition/arcface_torch/utils/utils_callbacks.py, which rounds the scale.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField moment[] = {
    {loss, "Loss "},
    {step, "Global Step", true},
    {printed, "Fp16 Grad Scale", true},
};

constexpr LineShape shapes[] = {
    {.kind = "insightface-log", .needle = "Fp16 Grad Scale", .fields = moment, .meaning = Meaning::moment},
};

}  // namespace

std::span<const LineShape> insightface_shapes() {
  return shapes;
}

}  // namespace tare
