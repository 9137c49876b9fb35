// timm: train.py, which prints no scale. Source: timm 1.0, train.py, train_one_epoch.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField timm_update[] = {
    {epoch, "Train: ", true},
    {step, "[", true, '/'},
    {per_epoch, "/", true},
    {loss, "Loss: ", true},
};

constexpr LineShape timm_lines[] = {
    {.kind = "timm-log", .needle = "Loss: ", .also = "Train: ", .fields = timm_update, .meaning = Meaning::aside},
};

}  // namespace

std::span<const LineShape> timm_shapes() {
  return timm_lines;
}

}  // namespace tare
