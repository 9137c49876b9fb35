// NeMo 1: the progress bar, which shows the scale that the step ran with.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField nemo_moment[] = {
    {step, "global_step=", true},
    {before, "loss_scale=", true},
    {loss, "reduced_train_loss="},
};

constexpr LineShape nemo_lines[] = {
    {.kind = "nemo-log",
     .needle = "loss_scale=",
     .also = "global_step=",
     .fields = nemo_moment,
     .meaning = Meaning::moment},
};

}  // namespace

std::span<const LineShape> nemo_shapes() {
  return nemo_lines;
}

}  // namespace tare
