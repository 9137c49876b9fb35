// tqdm's bars, Lightning's and the diffusers' scripts' among them, that show a loss and no scale. Source: tqdm 4.67,
// std.py, format_meter; lightning 2.6, callbacks/progress/tqdm_progress.py.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField bar[] = {
    {epoch, "Epoch", false, ':'}, {step, "| ", true, '/'}, {per_epoch, "/", true}, {loss, "train_loss_step="},
    {loss, "train_loss="},        {loss, "step_loss="},    {loss, " loss=", true},
};

constexpr LineShape shapes[] = {
    {.kind = "tqdm-bar",
     .needle = "loss",
     .also = "it/s, ;s/it, ",
     .without = "global_step=",
     .fields = bar,
     .meaning = Meaning::aside,
     .is_last_resort = true},
};

}  // namespace

std::span<const LineShape> tqdm_shapes() {
  return shapes;
}

}  // namespace tare
