// MXFP4 as gpt-oss and Quark keep it: blocks and scales, or a weight of bytes whose scales are bytes, too. Source:
// transformers' integration of mxfp4.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/stored_weight.hpp"

namespace tare {
namespace {

constexpr auto mxfp4_rules = std::to_array<Fp8Rule>({
    scale_of("weight", "scales", fp4_largest),
    scale_of("weight", "weight_scale", fp4_largest),
    calibrated(scale_of("input", "input_scale", fp4_largest)),
});
constexpr Fp8Convention mxfp4_conventions[] = {
    {AgeOrder::first, ScaleMeaning::divisor, ScaleUse::stored_data, mxfp4_rules},
};

}  // namespace

constinit const Dialect mxfp4_weight = {
    .name = "mxfp4",
    .kind = "fp8",
    .framework = "MXFP4 weights, as gpt-oss and Quark keep them",
    .find_in = found_with_other_weights,
    .telling_word = "scale",
    .fp8 = {mxfp4_conventions},
};

}  // namespace tare
