#include "lib/dialect/fp8_convention.hpp"

#include <array>

namespace tare {
namespace {

constexpr double e4m3 = 448;
constexpr double e5m2 = 57344;

constexpr std::string_view te_max_fwd = "extra_fp8_variables.fp8_max_fwd";
constexpr std::string_view te_max_bwd = "extra_fp8_variables.fp8_max_bwd";

constexpr auto te_rules = std::to_array<Fp8Rule>({
    {"input", "scale_fwd", "scale_inv_fwd", "amax_history_fwd", te_max_fwd, e4m3, 0, 3},
    {"weight", "scale_fwd", "scale_inv_fwd", "amax_history_fwd", te_max_fwd, e4m3, 1, 3},
    {"output", "scale_fwd", "scale_inv_fwd", "amax_history_fwd", te_max_fwd, e4m3, 2, 3},
    {"grad_output", "scale_bwd", "scale_inv_bwd", "amax_history_bwd", te_max_bwd, e5m2, 0, 2},
    {"grad_input", "scale_bwd", "scale_inv_bwd", "amax_history_bwd", te_max_bwd, e5m2, 1, 2},
});

/// Up to 0.5: no columns for what a product gives.
constexpr auto old_te_rules = std::to_array<Fp8Rule>({
    {"input", "scale_fwd", "scale_inv_fwd", "amax_history_fwd", te_max_fwd, e4m3, 0, 2},
    {"weight", "scale_fwd", "scale_inv_fwd", "amax_history_fwd", te_max_fwd, e4m3, 1, 2},
    {"grad_output", "scale_bwd", "scale_inv_bwd", "amax_history_bwd", te_max_bwd, e5m2, 0, 1},
});

constexpr auto torchao_rules = std::to_array<Fp8Rule>({
    {"input", "fp8_scale_input", {}, "fp8_amax_history_input", {}, e4m3},
    {"weight", "fp8_scale_weight", {}, "fp8_amax_history_weight", {}, e4m3},
    {"grad_output", "fp8_scale_grad_output", {}, "fp8_amax_history_grad_output", {}, e5m2},
    {"input", "fp8_scale_x", {}, "fp8_amax_history_x", {}, e4m3},
    {"weight", "fp8_scale_w", {}, "fp8_amax_history_w", {}, e4m3},
    {"grad_output", "fp8_scale_dL_dY", {}, "fp8_amax_history_dL_dY", {}, e5m2},
});

constexpr auto flax_rules = std::to_array<Fp8Rule>({
    {"input", "input_scale", {}, "input_amax_history", {}, e4m3},
    {"weight", "kernel_scale", {}, "kernel_amax_history", {}, e4m3},
    {"grad_output", "output_grad_scale", {}, "output_grad_amax_history", {}, e5m2},
});

constexpr auto keras_rules = std::to_array<Fp8Rule>({
    {"input", "inputs_scale", {}, "inputs_amax_history", {}, e4m3},
    {"weight", "kernel_scale", {}, "kernel_amax_history", {}, e4m3},
    {"grad_output", "outputs_grad_scale", {}, "outputs_grad_amax_history", {}, e5m2},
});

constexpr auto te_jax_rules = std::to_array<Fp8Rule>({
    {"input", "x_scale", {}, "x_amax_history", {}, e4m3},
    {"weight", "kernel_scale", {}, "kernel_amax_history", {}, e4m3},
    {"grad_output", "grad_scale", {}, "grad_amax_history", {}, e5m2},
});

constexpr auto msamp_rules = std::to_array<Fp8Rule>({{"tensor", "scale", "scale_inv", "amax", {}, e4m3}});

// ---- stored weights. A second, global scale of a tensor stands over those of its blocks: a value is the product.

constexpr double e2m1 = 6;

/// A scale without a history.
constexpr Fp8Rule of(std::string_view role, std::string_view scale, double format_max = e4m3) {
  Fp8Rule rule;
  rule.role = role;
  rule.scale = scale;
  rule.format_max = format_max;
  return rule;
}

/// One that values are quantised with when the model runs.
constexpr Fp8Rule calibrated(Fp8Rule rule) {
  rule.use = ScaleUse::calibrated;
  return rule;
}

constexpr Fp8Rule multiplying(Fp8Rule rule) {
  rule.meaning = ScaleMeaning::multiplier;
  return rule;
}

constexpr auto torchao_weight_rules = std::to_array<Fp8Rule>({
    of("weight", "scale"),
    of("weight_global", "per_tensor_scale", e2m1),
    calibrated(of("input_global", "act_per_tensor_scale", e2m1)),
    calibrated(of("input", "act_quant_scale")),
    calibrated(of("output", "output_act_quant_scale")),
});
constexpr auto deepseek_rules = std::to_array<Fp8Rule>({
    of("weight", "weight_scale_inv"),
    of("weight", "scale"),
    calibrated(of("input", "activation_scale")),
});
constexpr auto compressed_rules = std::to_array<Fp8Rule>({
    of("weight", "weight_scale"),
    calibrated(of("input", "input_scale")),
    calibrated(of("output", "output_scale")),
    calibrated(of("query", "q_scale")),
    calibrated(of("key", "k_scale")),
    calibrated(of("value", "v_scale")),
    calibrated(of("key_and_value", "kv_scale")),
});
constexpr auto compressed_fp4_rules = std::to_array<Fp8Rule>({
    of("weight", "weight_scale", e2m1),
    multiplying(of("weight_global", "weight_global_scale", e2m1)),
    multiplying(calibrated(of("input_global", "input_global_scale", e2m1))),
});
constexpr auto modelopt_rules = std::to_array<Fp8Rule>({
    of("weight", "weight_scale", e2m1),
    of("weight_global", "weight_scale_2", e2m1),
    calibrated(of("input_global", "input_scale", e2m1)),
    calibrated(of("output", "output_scale")),
    calibrated(of("key", "k_scale")),
    calibrated(of("value", "v_scale")),
});
constexpr auto mxfp4_rules = std::to_array<Fp8Rule>({
    of("weight", "scales", e2m1),
    of("weight", "weight_scale", e2m1),
    calibrated(of("input", "input_scale", e2m1)),
});
constexpr auto comfyui_rules = std::to_array<Fp8Rule>({
    of("weight", "scale_weight"),
    calibrated(of("input", "scale_input")),
    of("weight", "weight_scale"),
    of("weight_global", "weight_scale_2"),
    calibrated(of("input", "input_scale")),
});

constexpr auto multiplier = ScaleMeaning::multiplier;
constexpr auto divisor = ScaleMeaning::divisor;

constexpr auto table = std::to_array<Fp8Convention>({
    {"transformer_engine", AgeOrder::last_first, multiplier, ScaleUse::recomputed, te_rules},
    {"transformer_engine", AgeOrder::last_first, multiplier, ScaleUse::recomputed, old_te_rules},
    {"transformer_engine_jax", AgeOrder::last_first, multiplier, ScaleUse::recomputed, te_jax_rules},
    {"torchao_delayed", AgeOrder::first, multiplier, ScaleUse::recomputed, torchao_rules},
    {"flax", AgeOrder::first_wraps, divisor, ScaleUse::recomputed, flax_rules},
    {"keras", AgeOrder::first_wraps, divisor, ScaleUse::recomputed, keras_rules},
    {"msamp", AgeOrder::second, multiplier, ScaleUse::stored_data, msamp_rules},
    {"torchao", AgeOrder::first, divisor, ScaleUse::stored_data, torchao_weight_rules},
    {"deepseek_fp8", AgeOrder::first, divisor, ScaleUse::stored_data, deepseek_rules},
    {"compressed_tensors", AgeOrder::first, divisor, ScaleUse::stored_data, compressed_rules},
    {"compressed_tensors_fp4", AgeOrder::first, divisor, ScaleUse::stored_data, compressed_fp4_rules},
    {"modelopt", AgeOrder::first, divisor, ScaleUse::stored_data, modelopt_rules},
    {"mxfp4", AgeOrder::first, divisor, ScaleUse::stored_data, mxfp4_rules},
    {"comfyui", AgeOrder::first, divisor, ScaleUse::stored_data, comfyui_rules},
});

}  // namespace

std::span<const Fp8Convention> fp8_conventions() {
  return table;
}

std::string_view name(ScaleUse use) {
  switch (use) {
    case ScaleUse::calibrated:
      return "calibrated";
    case ScaleUse::stored_data:
      return "stored_data";
    case ScaleUse::recomputed:
      break;
  }
  return "recomputed";
}

std::uint64_t finished_entries(AgeOrder order, std::uint64_t length) {
  const bool has_running = order == AgeOrder::last_first || order == AgeOrder::second;
  return has_running && length > 1 ? length - 1 : length;
}

std::uint64_t entry_of_age(AgeOrder order, std::uint64_t length, std::uint64_t age) {
  switch (order) {
    case AgeOrder::last_first:
      return length - 1 - age;
    case AgeOrder::first_wraps:
      return age == 0 ? 0 : length - age;
    case AgeOrder::second:
      return length > 1 ? 1 + age : 0;
    case AgeOrder::first:
      break;
  }
  return age;
}

}  // namespace tare
