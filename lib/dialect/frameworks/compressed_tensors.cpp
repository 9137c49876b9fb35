// compressed-tensors (llm-compressor, vLLM). Source: compressed_tensors/compressors/.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/stored_weight.hpp"

namespace tare {
namespace {

constexpr auto compressed_tensors_rules = std::to_array<Fp8Rule>({
    scale_of("weight", "weight_scale"),
    scale_of("weight", "scale"),
    scale_of("weight", "qscale_weight"),
    calibrated(scale_of("input", "input_scale")),
    calibrated(scale_of("input", "act_scale")),
    calibrated(scale_of("input", "qscale_act")),
    calibrated(scale_of("output", "output_scale")),
    calibrated(scale_of("query", "q_scale")),
    calibrated(scale_of("key", "k_scale")),
    calibrated(scale_of("value", "v_scale")),
    calibrated(scale_of("key_and_value", "kv_scale")),
});
constexpr Fp8Convention compressed_tensors_conventions[] = {
    {AgeOrder::first, ScaleMeaning::divisor, ScaleUse::stored_data, compressed_tensors_rules},
};

// Packed to 4 bits.
constexpr auto fp4_rules = std::to_array<Fp8Rule>({
    scale_of("weight", "weight_scale", fp4_largest),
    multiplying(scale_of("weight_global", "weight_global_scale", fp4_largest)),
    multiplying(calibrated(scale_of("input_global", "input_global_scale", fp4_largest))),
});
constexpr Fp8Convention fp4_conventions[] = {
    {AgeOrder::first, ScaleMeaning::divisor, ScaleUse::stored_data, fp4_rules},
};

}  // namespace

constinit const Dialect compressed_tensors_weight = {
    .name = "compressed_tensors",
    .kind = "fp8",
    .framework = "compressed-tensors' FP8 weights",
    .find_in = found_with_other_weights,
    .telling_word = "scale",
    .fp8 = {compressed_tensors_conventions},
};

constinit const Dialect compressed_tensors_fp4_weight = {
    .name = "compressed_tensors_fp4",
    .kind = "fp8",
    .framework = "compressed-tensors' NVFP4 or MXFP4 weights",
    .find_in = found_with_other_weights,
    .telling_word = "scale",
    .fp8 = {fp4_conventions},
};

}  // namespace tare
