// Hugging Face's Trainer prints what it logs as a dict. A scale is there where a callback put one: tare's own, or the
// user's. The step's number is not. Source: transformers 4.38 to 5, trainer.py, _maybe_log_save_evaluate.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField huggingface_logged[] = {
    {loss, "'loss'"},
    {grad_norm, "'grad_norm'"},
    {printed, "'loss_scale'", true},
};

constexpr LineField huggingface_logged_without_scale[] = {
    {loss, "'loss'", true},
    {grad_norm, "'grad_norm'"},
};

constexpr LineShape huggingface_lines[] = {
    {.kind = "huggingface-log", .needle = "'loss_scale': ", .also = "'epoch': ", .fields = huggingface_logged},
    {.kind = "huggingface-log",
     .needle = "'loss': ",
     .also = "'epoch': ",
     .without = "'loss_scale': ",
     .fields = huggingface_logged_without_scale,
     .meaning = Meaning::aside},
};

}  // namespace

std::span<const LineShape> huggingface_shapes() {
  return huggingface_lines;
}

}  // namespace tare
