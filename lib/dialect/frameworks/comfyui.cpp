// ComfyUI: scale_weight and scale_input; later weight_scale with a comfy_quant that names the format. Source: its
// QUANTIZATION.md.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/stored_weight.hpp"

namespace tare {
namespace {

constexpr auto comfyui_rules = std::to_array<Fp8Rule>({
    scale_of("weight", "scale_weight"),
    calibrated(scale_of("input", "scale_input")),
    scale_of("weight", "weight_scale"),
    scale_of("weight_global", "weight_scale_2"),
    calibrated(scale_of("input", "input_scale")),
});
constexpr Fp8Convention comfyui_conventions[] = {
    {AgeOrder::first, ScaleMeaning::divisor, ScaleUse::stored_data, comfyui_rules},
};

}  // namespace

constinit const Dialect comfyui_weight = {
    .name = "comfyui",
    .kind = "fp8",
    .framework = "ComfyUI's scaled weights",
    .find_in = found_with_other_weights,
    .telling_word = "scale",
    .fp8 = {comfyui_conventions},
};

}  // namespace tare
