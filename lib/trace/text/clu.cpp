// CLU's metric writers, as Flax's examples use them: the step in brackets, then every metric by its name.
// Source: clu/metric_writers/logging_writer.py.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField clu_scale[] = {
    {step, "] [", true, ']'}, {loss, "train_loss="},       {loss, " loss="},          {printed, "loss_scale="},
    {printed, "grad_scale="}, {printed, "dynamic_scale="}, {printed, "train_scale="}, {printed, " scale=", true},
};

constexpr LineShape clu_lines[] = {
    {.kind = "clu-log",
     .needle = "scale=",
     .also = "logging_writer.py:",
     .fields = clu_scale,
     .meaning = Meaning::moment,
     .is_doubtful = true},
};

}  // namespace

std::span<const LineShape> clu_shapes() {
  return clu_lines;
}

}  // namespace tare
