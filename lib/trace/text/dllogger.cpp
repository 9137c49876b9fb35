// NVIDIA's DLLogger, as its BERT and others use it: one line an overflow; steps as [epoch, iteration], which some count
// anew each epoch.
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

constexpr LineField dllogger_scale[] = {
    {epoch, "\"step\"", true, ','},
    {.fact = batch, .label = ",", .is_required = true, .behind = ']', .is_next = true},
    {loss, "\"step_loss\""},
    {loss, "loss\""},
    {printed, "\"loss_scale\"", true},
};

constexpr LineField dllogger_loss[] = {
    {epoch, "\"step\"", true, ','},
    {.fact = batch, .label = ",", .is_required = true, .behind = ']', .is_next = true},
    {loss, "\"step_loss\""},
    {loss, "loss\"", true},
};

/// Of an evaluation three numbers are told.
constexpr std::string_view step_of_two = "\"step\": [;\"step\":[";

constexpr LineShape dllogger_lines[] = {
    {.kind = "dllogger-log", .needle = "PARAMETER loss_scale", .fields = dllogger_parameter, .overflow = true},
    {.kind = "dllogger-log",
     .needle = "\"loss_scale\"",
     .also = "\"PARAMETER\"",
     .fields = dllogger_json,
     .overflow = true},
    {.kind = "dllogger-log",
     .needle = "\"loss_scale\"",
     .also = step_of_two,
     .fields = dllogger_scale,
     .meaning = Meaning::moment},
    {.kind = "dllogger-log",
     .needle = "loss\"",
     .also = step_of_two,
     .fields = dllogger_loss,
     .meaning = Meaning::aside},
};

}  // namespace

std::span<const LineShape> dllogger_shapes() {
  return dllogger_lines;
}

}  // namespace tare
