// NVIDIA's DLLogger, as its BERT and others use it: one line an overflow.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField parameter[] = {
    {after, "loss_scale", true},
};

constexpr LineField json[] = {
    {after, "\"loss_scale\"", true},
};

constexpr LineShape shapes[] = {
    {.kind = "dllogger-log", .needle = "PARAMETER loss_scale", .fields = parameter, .overflow = true},
    {.kind = "dllogger-log", .needle = "\"loss_scale\"", .also = "DLLL {", .fields = json, .overflow = true},
};

}  // namespace

std::span<const LineShape> dllogger_shapes() {
  return shapes;
}

}  // namespace tare
