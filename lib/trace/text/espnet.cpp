// ESPnet 2, FunASR: train/trainer.py. What it prints is a mean over the batches of the line.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField espnet_mean[] = {
    {epoch, "INFO: "},         {from_step, "epoch:train:", true, '-'}, {batch, "-", true},
    {grad_norm, "grad_norm="}, {smoothed, "grad_scale=", true},
};

constexpr LineShape espnet_lines[] = {
    {.kind = "espnet-log",
     .needle = "grad_scale=",
     .also = "epoch:train:",
     .fields = espnet_mean,
     .meaning = Meaning::moment},
    {.kind = "espnet-log", .needle = "Skipping updating the model", .overflow = true},
};

}  // namespace

std::span<const LineShape> espnet_shapes() {
  return espnet_lines;
}

}  // namespace tare
