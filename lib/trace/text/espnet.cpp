// ESPnet 2 (since 2023 with the scale), FunASR: train/trainer.py. What it prints is a mean over those batches of
// the line that were not skipped; the scale is 1 where there is no scaler.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField espnet_mean[] = {
    {epoch, "INFO: "},         {from_step, "epoch:train:", true, '-'},
    {batch, "-", true},        {loss, " loss="},
    {grad_norm, "grad_norm="}, {smoothed, "_scale=", true},
};

constexpr LineField espnet_without_scale[] = {
    {loss, " loss=", true},
    {grad_norm, "grad_norm="},
};

constexpr LineShape espnet_lines[] = {
    {.kind = "espnet-log",
     .needle = "_scale=",  // of "loss", and of "grad"
     .also = "epoch:train:",
     .fields = espnet_mean,
     .meaning = Meaning::moment,
     .first_epoch = 1},
    {.kind = "espnet-log", .needle = "Skipping updating the model", .overflow = true},
    {.kind = "espnet-log",
     .needle = " loss=",
     .also = "epoch:train:",
     .without = "_scale=",
     .fields = espnet_without_scale,
     .meaning = Meaning::aside},
};

}  // namespace

std::span<const LineShape> espnet_shapes() {
  return espnet_lines;
}

}  // namespace tare
