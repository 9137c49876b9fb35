// FunASR: train_utils/trainer.py, the line of the training log. It tells no scale; its validation has lines of the same
// shape.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField funasr_step[] = {
    {step, "total step:", true},
    {loss, "(loss_avg_rank:", true},
};

constexpr LineShape funasr_lines[] = {
    {.kind = "funasr-log",
     .needle = "(loss_avg_rank:",
     .also = "train, rank:",
     .fields = funasr_step,
     .meaning = Meaning::aside},
};

}  // namespace

std::span<const LineShape> funasr_shapes() {
  return funasr_lines;
}

}  // namespace tare
