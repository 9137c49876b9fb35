// mindformers: core/callback/callback.py, MFLossMonitor. The scale is the one that the step left. MindSpore's model
// zoo: what the network returns, as a tuple of loss, overflow and scale.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField mindformers_moment[] = {
    {epoch, "poch:[", true, '/'},      {step, "step:[", true, '/'}, {per_epoch, "/", true},     {loss, "loss:"},
    {overflow, "overflow cond", true}, {after, "loss_scale"},       {grad_norm, "global_norm"},
};

constexpr LineField mindformers_returned[] = {
    {step, "step", true},      {loss, "Float32, value"},  {loss, "Float32,"},        {overflow, "Bool, value"},
    {overflow, "Bool,", true}, {after, "Float32, value"}, {after, "Float32,", true},
};

/// PanGu-alpha's and CodeGeeX's monitors: steps count through the run.
constexpr LineField mindspore_monitored[] = {
    {rank, "local_rank:"}, {step, "step:", true},           {loss, "output is"},
    {loss, "loss is"},     {overflow, "overflow is", true}, {after, "scale is", true},
};

constexpr LineShape mindformers_lines[] = {
    {.kind = "mindformers-log",
     .needle = "overflow cond",
     .fields = mindformers_moment,
     .meaning = Meaning::moment,
     .first_epoch = 1},
    {.kind = "mindspore-log",
     .needle = "current epoch percent",
     .also = "dtype=Bool",
     .fields = mindformers_returned,
     .meaning = Meaning::moment},
    {.kind = "mindspore-log",
     .needle = "overflow is ",
     .also = "scale is ",
     .fields = mindspore_monitored,
     .meaning = Meaning::moment},
};

}  // namespace

std::span<const LineShape> mindformers_shapes() {
  return mindformers_lines;
}

}  // namespace tare
