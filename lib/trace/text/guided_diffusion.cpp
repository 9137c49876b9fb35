// OpenAI's improved-diffusion, guided-diffusion and their forks: MixedPrecisionTrainer keeps the logarithm of its
// scale, takes 1 from it after an overflow, and adds 0.001 after each other step. Its tables hold means of it, which
// are left out. Source: guided_diffusion/fp16_util.py, _optimize_fp16.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField guided_diffusion_overflow_met[] = {
    {exponent, "decreased lg_loss_scale to", true},
};

constexpr LineShape guided_diffusion_lines[] = {
    {.kind = "guided-diffusion-log",
     .needle = "decreased lg_loss_scale to",
     .fields = guided_diffusion_overflow_met,
     .overflow = true},
};

}  // namespace

std::span<const LineShape> guided_diffusion_shapes() {
  return guided_diffusion_lines;
}

}  // namespace tare
