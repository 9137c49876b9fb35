// EVA-CLIP: training/train.py. Five digits of the scale that the step left; of a run without a scaler, 0 for ever.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField eva_clip_scale[] = {
    {step, "Global Steps:", true},
    {loss, " Loss:"},
    {grad_norm, "Grad Norm:"},
    {printed, "Loss Scaler:", true},
};

constexpr LineShape eva_clip_lines[] = {
    {.kind = "eva-clip-log",
     .needle = "Loss Scaler: ",
     .also = "Global Steps: ",
     .fields = eva_clip_scale,
     .meaning = Meaning::moment,
     .digits = 5,
     .is_doubtful = true},
};

}  // namespace

std::span<const LineShape> eva_clip_shapes() {
  return eva_clip_lines;
}

}  // namespace tare
