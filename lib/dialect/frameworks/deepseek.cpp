// DeepSeek's models: weight_scale_inv, and scale_inv behind the name of experts in one tensor, divisors in spite of
// their names; `scale` in its own inference format. Source:
// transformers' integration of finegrained_fp8.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/stored_weight.hpp"

namespace tare {
namespace {

constexpr auto deepseek_rules = std::to_array<Fp8Rule>({
    scale_of("weight", "weight_scale_inv"),
    scale_of("weight", "scale_inv"),
    scale_of("weight", "scale"),
    calibrated(scale_of("input", "activation_scale")),
});
constexpr Fp8Convention deepseek_conventions[] = {
    {AgeOrder::first, ScaleMeaning::divisor, ScaleUse::stored_data, deepseek_rules},
};

}  // namespace

constinit const Dialect deepseek_fp8_weight = {
    .name = "deepseek_fp8",
    .kind = "fp8",
    .framework = "DeepSeek's FP8 weights",
    .find_in = find_stored_weights,
    .telling_word = "scale",
    .fp8 = {deepseek_conventions},
};

}  // namespace tare
