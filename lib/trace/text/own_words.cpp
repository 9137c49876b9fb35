// A trainer of the user's own: the number of a step and a scale in one line, under their usual names.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr Field loss_scale[] = {
    {step, "global_step"}, {step, "step"}, {step, "Step"},       {step, "iteration"},
    {step, "Iteration"},   {step, "iter"}, {step, "Iter", true}, {printed, "loss_scale", true},
};
constexpr Field spaced_loss_scale[] = {
    {step, "global_step"}, {step, "step"}, {step, "Step"},       {step, "iteration"},
    {step, "Iteration"},   {step, "iter"}, {step, "Iter", true}, {printed, "oss scale", true},
};
constexpr Field loss_scaling[] = {
    {step, "global_step"}, {step, "step"}, {step, "Step"},       {step, "iteration"},
    {step, "Iteration"},   {step, "iter"}, {step, "Iter", true}, {printed, "loss_scaling", true},
};
constexpr Field grad_scale[] = {
    {step, "global_step"}, {step, "step"}, {step, "Step"},       {step, "iteration"},
    {step, "Iteration"},   {step, "iter"}, {step, "Iter", true}, {printed, "grad_scale", true},
};

constexpr LineShape shapes[] = {
    {.kind = "log",
     .needle = "loss_scale",
     .without = "Epoch: [",
     .fields = loss_scale,
     .meaning = Meaning::moment,
     .is_last_resort = true},
    {.kind = "log",
     .needle = "oss scale",
     .fields = spaced_loss_scale,
     .meaning = Meaning::moment,
     .is_last_resort = true},
    {.kind = "log",
     .needle = "loss_scaling",
     .fields = loss_scaling,
     .meaning = Meaning::moment,
     .is_last_resort = true},
    {.kind = "log",
     .needle = "grad_scale",
     .without = "Epoch ",
     .fields = grad_scale,
     .meaning = Meaning::moment,
     .is_last_resort = true},
};

}  // namespace

std::span<const LineShape> own_words_shapes() {
  return shapes;
}

}  // namespace tare
