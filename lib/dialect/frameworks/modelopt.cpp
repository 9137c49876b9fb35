// NVIDIA's ModelOpt: NVFP4 has two scales; its FP8 is like compressed-tensors'. Source: modelopt/torch/export/.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/stored_weight.hpp"

namespace tare {
namespace {

constexpr auto modelopt_rules = std::to_array<Fp8Rule>({
    scale_of("weight", "weight_scale", fp4_largest),
    scale_of("weight_global", "weight_scale_2", fp4_largest),
    calibrated(scale_of("input_global", "input_scale", fp4_largest)),
    calibrated(scale_of("output", "output_scale")),
    calibrated(scale_of("key", "k_scale")),
    calibrated(scale_of("value", "v_scale")),
});
constexpr Fp8Convention modelopt_conventions[] = {
    {AgeOrder::first, ScaleMeaning::divisor, ScaleUse::stored_data, modelopt_rules},
};

}  // namespace

constinit const Dialect modelopt_weight = {
    .name = "modelopt",
    .kind = "fp8",
    .framework = "ModelOpt's NVFP4 weights",
    .find_in = found_with_other_weights,
    .telling_word = "scale",
    .fp8 = {modelopt_conventions},
};

}  // namespace tare
