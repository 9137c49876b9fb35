// Lightning's progress bars, that of tqdm and that of rich, where the module logs its scale with prog_bar=True. NeMo's
// has a number, too.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField lightning_logged[] = {
    {printed, "loss_scale", true},
};

constexpr LineShape lightning_lines[] = {
    {.kind = "lightning-log",
     .needle = "loss_scale=",
     .also = "v_num=",
     .without = "global_step=",
     .fields = lightning_logged},
    {.kind = "lightning-log",
     .needle = "loss_scale: ",
     .also = "v_num: ",
     .without = "global_step: ",
     .fields = lightning_logged},
};

}  // namespace

std::span<const LineShape> lightning_shapes() {
  return lightning_lines;
}

}  // namespace tare
