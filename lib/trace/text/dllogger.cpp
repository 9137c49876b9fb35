// NVIDIA's DLLogger, as its BERT and others use it: one line an overflow.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField dllogger_parameter[] = {
    {after, "loss_scale", true},
};

constexpr LineField dllogger_json[] = {
    {after, "\"loss_scale\"", true},
};

constexpr LineShape dllogger_lines[] = {
    {.kind = "dllogger-log", .needle = "PARAMETER loss_scale", .fields = dllogger_parameter, .overflow = true},
    {.kind = "dllogger-log", .needle = "\"loss_scale\"", .also = "DLLL {", .fields = dllogger_json, .overflow = true},
};

}  // namespace

std::span<const LineShape> dllogger_shapes() {
  return dllogger_lines;
}

}  // namespace tare
