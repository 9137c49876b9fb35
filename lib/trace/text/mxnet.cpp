// MXNet and GluonNLP: contrib/amp/loss_scaler.py. The scale is the one that the step left; no step number.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField mxnet_change[] = {{printed, "loss scale to", true}};

constexpr LineShape mxnet_lines[] = {
    {.kind = "mxnet-log", .needle = "AMP: decreasing loss scale to", .fields = mxnet_change, .overflow = true},
    {.kind = "mxnet-log", .needle = "AMP: increasing loss scale to", .fields = mxnet_change, .overflow = false},
};

}  // namespace

std::span<const LineShape> mxnet_shapes() {
  return mxnet_lines;
}

}  // namespace tare
