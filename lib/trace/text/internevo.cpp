// InternEvo, and InternLM's trainer before it: train/pipeline.py, record_current_batch_training_metrics. A line for
// each step from 0 on, with the scale that it left. Steps without an update are counted: by infinity, of which a second
// one halves the scale, or by NaN, which leaves it as it is (solver/optimizer/hybrid_zero_optim.py).
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField internevo_step[] = {
    {step, "step=", true},
    {.fact = loss, .label = "loss=", .is_whole = true},
    {after, "loss_scale=", true},
    {skipped_total, "inf_nan_skip_batches=", true},
};

constexpr LineField internevo_adjusted[] = {{after, "loss scale is adjusted to", true}};

/// ColossalAI's words; the step's own line tells the same.
constexpr LineShape adjusted(bool overflow, std::string_view without) {
  return {.kind = "internevo-log",
          .needle = "loss scale is adjusted to",
          .also = "utils.py:;utils.py, line",
          .without = without,
          .fields = internevo_adjusted,
          .overflow = overflow,
          .is_told_again = true};
}

constexpr LineShape internevo_lines[] = {
    adjusted(true, "No overflow"),
    adjusted(false, "Overflow occurs"),
    {.kind = "internevo-log",
     .needle = "loss_scale=",
     .also = "inf_nan_skip_batches=",
     .fields = internevo_step,
     .meaning = Meaning::moment},
};

}  // namespace

std::span<const LineShape> internevo_shapes() {
  return internevo_lines;
}

}  // namespace tare
