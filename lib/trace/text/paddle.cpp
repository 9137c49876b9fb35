// Paddle and PaddleNLP: amp/grad_scaler.py, trainers' lines. `Found inf` tells the scale before.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField found[] = {
    {before, "current scale is", true},
    {ratio, "*", true},
};

constexpr LineField not_run[] = {
    {before, "scale_before", true},
    {after, "scale_after", true},
};

constexpr LineField static_moment[] = {
    {step, "global step", true},
    {loss, "loss: "},
    {printed, "loss_scaling: ", true},
};

constexpr LineField moment[] = {
    {loss, "loss: "},
    {step, "global_step: ", true},
    {printed, "loss_scale: ", true},
};

constexpr LineShape shapes[] = {
    {.kind = "paddle-log",
     .needle = "current scale is",
     .also = "Found inf",
     .fields = found,
     .overflow = true,
     .part = Part::attempt},
    {.kind = "paddle-log",
     .needle = "scale_before",
     .also = "optimizer not run",
     .fields = not_run,
     .overflow = true,
     .part = Part::skip},
    {.kind = "paddle-log",
     .needle = "loss_scaling: ",
     .also = "global step",
     .fields = static_moment,
     .meaning = Meaning::moment},
    {.kind = "paddle-log",
     .needle = "loss_scale: ",
     .also = "global_step: ",
     .fields = moment,
     .meaning = Meaning::moment},
};

}  // namespace

std::span<const LineShape> paddle_shapes() {
  return shapes;
}

}  // namespace tare
