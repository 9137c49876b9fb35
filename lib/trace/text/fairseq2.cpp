// fairseq2, all releases: optim/dynamic_loss_scaler.py, trainer.py. Older lines have no step number; newer ones repeat
// the number of a step that overflowed, as they try it again.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField fairseq2_change[] = {
    {step, "at step"},
    {before, "loss scale from", true},
    {after, " to ", true},
};

constexpr LineField fairseq2_growth[] = {
    {step, "after step"},
    {before, "loss scale from", true},
    {after, " to ", true},
};

constexpr LineField fairseq2_floor[] = {
    {step, "at step"},
    {before, "at minimum (", true},
};

constexpr LineShape fairseq2_lines[] = {
    {.kind = "fairseq2-log",
     .needle = "decreasing loss scale from",
     .also = "verflow detected",
     .fields = fairseq2_change,
     .overflow = true,
     .digits = 6,
     .repeats_steps = true},
    {.kind = "fairseq2-log",
     .needle = "increasing loss scale from",
     .also = "verflow detected",
     .fields = fairseq2_growth,
     .overflow = false,
     .digits = 6},
    {.kind = "fairseq2-log",
     .needle = "loss scale is already at minimum",
     .also = "verflow detected",
     .fields = fairseq2_floor,
     .meaning = Meaning::death,
     .overflow = true,
     .digits = 6},
};

}  // namespace

std::span<const LineShape> fairseq2_shapes() {
  return fairseq2_lines;
}

}  // namespace tare
