// mmengine, mmcv: LoggerHook. A scale is there where a hook of the user put one; what is printed is a mean.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField mmengine_epoch_moment[] = {
    {epoch, "Epoch(train)", true, ']'}, {step, "[", true, '/'},     {per_epoch, "/", true}, {loss, " loss: "},
    {smoothed, "loss_scale: ", true},   {grad_norm, "grad_norm: "},
};

constexpr LineField mmengine_iter_moment[] = {
    {step, "Iter(train)", true, '/'},
    {loss, " loss: "},
    {smoothed, "loss_scale: ", true},
    {grad_norm, "grad_norm: "},
};

constexpr LineField mmengine_old_epoch_moment[] = {
    {epoch, "Epoch [", true, ']'},    {step, "[", true, '/'},     {per_epoch, "/", true}, {loss, " loss: "},
    {smoothed, "loss_scale: ", true}, {grad_norm, "grad_norm: "},
};

constexpr LineField mmengine_old_iter_moment[] = {
    {step, "Iter [", true, '/'},
    {loss, " loss: "},
    {smoothed, "loss_scale: ", true},
    {grad_norm, "grad_norm: "},
};

constexpr LineField mmengine_without_scale[] = {
    {epoch, "Epoch(train)", false, ']'},
    {epoch, "Epoch [", false, ']'},
    {step, "Iter(train)", false, '/'},
    {step, "Iter [", false, '/'},
    {step, "[", false, '/'},
    {per_epoch, "/"},
    {loss, " loss: ", true},
    {grad_norm, "grad_norm: "},
};

constexpr LineShape mmengine_lines[] = {
    {.kind = "mmengine-log",
     .needle = "loss_scale: ",
     .also = "Epoch(train)",
     .fields = mmengine_epoch_moment,
     .meaning = Meaning::moment,
     .first_epoch = 1},
    {.kind = "mmengine-log",
     .needle = "loss_scale: ",
     .also = "Iter(train)",
     .fields = mmengine_iter_moment,
     .meaning = Meaning::moment},
    {.kind = "mmengine-log",
     .needle = "loss_scale: ",
     .also = "Epoch [",
     .fields = mmengine_old_epoch_moment,
     .meaning = Meaning::moment,
     .first_epoch = 1},
    {.kind = "mmengine-log",
     .needle = "loss_scale: ",
     .also = "Iter [",
     .fields = mmengine_old_iter_moment,
     .meaning = Meaning::moment},
    {.kind = "mmengine-log",
     .needle = " loss: ",
     .also = "data_time: ",
     .without = "loss_scale: ",
     .fields = mmengine_without_scale,
     .meaning = Meaning::aside,
     .first_epoch = 1},
};

}  // namespace

std::span<const LineShape> mmengine_shapes() {
  return mmengine_lines;
}

}  // namespace tare
