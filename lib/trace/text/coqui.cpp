// Coqui's Trainer: trainer.py and logging/console_logger.py. A number a line below the one of the step; the scale is
// the one that the step left.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField coqui_scale[] = {{printed, "amp_scaler", true}};

constexpr LineShape coqui_lines[] = {
    {.kind = "coqui-log", .needle = "| > amp_scaler: ", .fields = coqui_scale},
};

}  // namespace

std::span<const LineShape> coqui_shapes() {
  return coqui_lines;
}

}  // namespace tare
