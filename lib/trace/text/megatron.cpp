// Megatron-LM, Megatron Core and their forks (Megatron-DeepSpeed, gpt-neox, CPM, GLM): training_log. The scale is the
// one that the iteration left; skipped and NaN iterations count since the line before. Fields that no `|` ends are cut.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField megatron_iteration[] = {
    {step, "iteration", true, '/'},
    {loss, "lm loss"},
    {loss, "lm_loss"},
    {loss, "total loss"},
    {printed, "loss scale", true, '|'},
    {grad_norm, "grad norm", false, '|'},
    {skipped, "number of skipped iterations", false, '|'},
    {nan, "number of nan iterations", false, '|'},
};

constexpr LineField megatron_unscaled[] = {
    {step, "iteration", true, '/'},
    {loss, "lm loss"},
    {loss, "lm_loss"},
    {grad_norm, "grad norm", false, '|'},
    {skipped, "number of skipped iterations", true, '|'},
    {nan, "number of nan iterations", false, '|'},
};

constexpr LineShape megatron_lines[] = {
    {.kind = "megatron-log",
     .needle = "loss scale",
     .also = "iteration",
     .fields = megatron_iteration,
     .meaning = Meaning::report},
    {.kind = "megatron-log",
     .needle = "number of skipped iterations",
     .without = "loss scale",
     .fields = megatron_unscaled,
     .meaning = Meaning::report},
    {.kind = "megatron-log", .needle = "iterations in a row due to Overflow", .meaning = Meaning::end},
};

}  // namespace

std::span<const LineShape> megatron_shapes() {
  return megatron_lines;
}

}  // namespace tare
