// AudioCraft: lines of flashy's LogProgressBar and its summary of an epoch, which tell means: what is a power of two
// all steps had. Source: flashy/logging.py, audiocraft/solvers/base.py.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField audiocraft_progress[] = {
    {epoch, "Train | Epoch", true, '|'}, {step, "|", true, '/'},   {per_epoch, "/", true},
    {power, "grad_scale", true},         {grad_norm, "grad_norm"}, {loss, "| ce"},
};

constexpr LineField audiocraft_summary[] = {
    {epoch, "Train Summary | Epoch", true},
    {power, "grad_scale=", true},
    {grad_norm, "grad_norm="},
    {loss, "| ce="},
};

constexpr LineShape audiocraft_lines[] = {
    {.kind = "audiocraft-log",
     .needle = "grad_scale ",
     .also = "Train | Epoch ",
     .fields = audiocraft_progress,
     .meaning = Meaning::moment,
     .first_epoch = 1},
    {.kind = "audiocraft-log",
     .needle = "grad_scale=",
     .also = "Train Summary | Epoch ",
     .fields = audiocraft_summary,
     .meaning = Meaning::moment},
};

}  // namespace

std::span<const LineShape> audiocraft_shapes() {
  return audiocraft_lines;
}

}  // namespace tare
