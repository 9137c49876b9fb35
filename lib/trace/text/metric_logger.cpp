// BEiT, MAE, VideoMAE, DINO, DeiT and their forks: utils.MetricLogger. What it prints is the median of the last 20
// steps and, in parentheses, the epoch's mean.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField moment[] = {
    {epoch, "Epoch: [", true, ']'},   {step, "[", true, '/'},     {per_epoch, "/", true}, {loss, " loss: "},
    {smoothed, "loss_scale: ", true}, {grad_norm, "grad_norm: "},
};

constexpr LineShape shapes[] = {
    {.kind = "metric-logger",
     .needle = "loss_scale: ",
     .also = "Epoch: [",
     .fields = moment,
     .meaning = Meaning::moment},
};

}  // namespace

std::span<const LineShape> metric_logger_shapes() {
  return shapes;
}

}  // namespace tare
