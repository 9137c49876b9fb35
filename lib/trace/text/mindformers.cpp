// mindformers: core/callback/callback.py, MFLossMonitor. The scale is the one that the step left.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr Field moment[] = {
    {epoch, "poch:[", true, '/'},      {step, "step:[", true, '/'}, {per_epoch, "/", true},     {loss, "loss:"},
    {overflow, "overflow cond", true}, {after, "loss_scale"},       {grad_norm, "global_norm"},
};

constexpr LineShape shapes[] = {
    {.kind = "mindformers-log",
     .needle = "overflow cond",
     .fields = moment,
     .meaning = Meaning::moment,
     .first_epoch = 1},
};

}  // namespace

std::span<const LineShape> mindformers_shapes() {
  return shapes;
}

}  // namespace tare
