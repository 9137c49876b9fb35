// BEiT, MAE, VideoMAE, DINO, DeiT and their forks: utils.MetricLogger. What it prints is the median of the last 20
// steps and, in parentheses, the epoch's mean.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField metric_logger_moment[] = {
    {epoch, "Epoch: [", true, ']'},   {step, "[", true, '/'},     {per_epoch, "/", true}, {loss, " loss: "},
    {smoothed, "loss_scale: ", true}, {grad_norm, "grad_norm: "},
};

constexpr LineShape metric_logger_lines[] = {
    {.kind = "metric-logger",
     .needle = "loss_scale: ",
     .also = "Epoch: [",
     .fields = metric_logger_moment,
     .meaning = Meaning::moment},
};

}  // namespace

std::span<const LineShape> metric_logger_shapes() {
  return metric_logger_lines;
}

}  // namespace tare
