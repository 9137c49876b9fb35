// Hugging Face's Trainer prints what it logs as a dict. A scale is there where a callback put one: tare's own, or the
// user's. The step's number is not.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField logged[] = {
    {loss, "'loss'"},
    {grad_norm, "'grad_norm'"},
    {printed, "'loss_scale'", true},
};

constexpr LineShape shapes[] = {
    {.kind = "huggingface-log", .needle = "'loss_scale': ", .also = "'epoch': ", .fields = logged},
};

}  // namespace

std::span<const LineShape> huggingface_shapes() {
  return shapes;
}

}  // namespace tare
