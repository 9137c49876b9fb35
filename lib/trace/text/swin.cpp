// Swin Transformer, SimMIM, InternImage and what is built on them: main.py, train_one_epoch. In parentheses stand
// means.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField swin_moment[] = {
    {epoch, "Train: [", true, '/'}, {step, "][", true, '/'},        {per_epoch, "/", true}, {loss, "loss "},
    {grad_norm, "grad_norm "},      {printed, "loss_scale ", true},
};

constexpr LineShape swin_lines[] = {
    {.kind = "swin-log",
     .needle = "loss_scale ",
     .also = "Train: [",
     .fields = swin_moment,
     .meaning = Meaning::moment},
};

}  // namespace

std::span<const LineShape> swin_shapes() {
  return swin_lines;
}

}  // namespace tare
