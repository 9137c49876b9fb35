// Paddle and PaddleNLP: amp/grad_scaler.py, trainers' lines. `Found inf` tells the scale before.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField paddle_found[] = {
    {before, "current scale is", true},
    {ratio, "*", true},
};

constexpr LineField paddle_not_run[] = {
    {before, "scale_before", true},
    {after, "scale_after", true},
};

constexpr LineField paddle_static_moment[] = {
    {step, "global step", true},
    {loss, "loss: "},
    {printed, "loss_scaling: ", true},
};

constexpr LineField paddle_moment[] = {
    {loss, "loss: "},
    {step, "global_step: ", true},
    {printed, "loss_scale: ", true},
};

constexpr LineShape paddle_lines[] = {
    {.kind = "paddle-log",
     .needle = "current scale is",
     .also = "Found inf",
     .fields = paddle_found,
     .overflow = true,
     .part = Part::attempt},
    {.kind = "paddle-log",
     .needle = "scale_before",
     .also = "optimizer not run",
     .fields = paddle_not_run,
     .overflow = true,
     .part = Part::skip},
    {.kind = "paddle-log",
     .needle = "loss_scaling: ",
     .also = "global step",
     .fields = paddle_static_moment,
     .meaning = Meaning::moment},
    {.kind = "paddle-log",
     .needle = "loss_scale: ",
     .also = "global_step: ",
     .fields = paddle_moment,
     .meaning = Meaning::moment},
};

}  // namespace

std::span<const LineShape> paddle_shapes() {
  return paddle_lines;
}

}  // namespace tare
