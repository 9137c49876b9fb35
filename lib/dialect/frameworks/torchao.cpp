// torchao's FP8: the buffers of delayed scaling (0.4 to 0.9), and quantised weights. Sources: torchao/float8/
// stateful_float8_linear.py of those releases, torchao/quantization/quantize_/workflows/float8/float8_tensor.py.
#include <algorithm>
#include <array>

#include "kernels/fp8/torchao.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/parts_by_module.hpp"
#include "lib/dialect/stored_weight.hpp"

namespace tare {
namespace {

constexpr std::string_view torchao_buffer_mark = "fp8_";

constexpr auto torchao_buffer_beginnings =
    std::to_array<std::string_view>({"fp8_amax_history_", "fp8_amax_", "fp8_scale_", "fp8_static_scale_"});
/// From July 2024 on, and before.
constexpr auto torchao_tensors = std::to_array<std::string_view>({"input", "weight", "grad_output", "x", "w", "dL_dY"});

bool is_buffer(std::string_view name) {
  return std::any_of(
      torchao_buffer_beginnings.begin(), torchao_buffer_beginnings.end(), [&](std::string_view beginning) {
        return name.starts_with(beginning) && std::find(torchao_tensors.begin(), torchao_tensors.end(),
                                                        name.substr(beginning.size())) != torchao_tensors.end();
      });
}

/// Buffers stand in the state dict as MODULE.BUFFER, or in a dict of the module's own.
Matches find_buffers(const Tree& tree, NodeId map, NodeId) {
  return parts_by_module(
      tree, map, [](const ModuleKey& key) { return key.name.starts_with(torchao_buffer_mark) && is_buffer(key.name); });
}

constexpr auto weight_scales = std::to_array<std::string_view>(
    {"scale", "per_tensor_scale", "act_per_tensor_scale", "act_quant_scale", "output_act_quant_scale"});

bool is_float8(const Tree& tree, NodeId node) {
  return node != nowhere && tree.kind(node) == Kind::tensor && tree.tensor(node).type.name.starts_with("float8");
}

/// The attributes of a Float8Tensor, MXTensor or NVFP4Tensor, or of the Float8AQTTensorImpl in an AffineQuantizedTensor
/// of 0.4 to 0.12: its bytes, and what they are multiplied with. 4 bits are packed to plain bytes, and their blocks'
/// scales are FP8; plain bytes with other scales are integers.
Matches find_weight(const Tree& tree, NodeId map, NodeId) {
  const NodeId scale = tree.find(map, "scale");
  const NodeId data = tree.find(map, "qdata");
  const NodeId bytes = data != nowhere ? data : tree.find(map, "float8_data");
  if (scale == nowhere || bytes == nowhere || tree.kind(scale) != Kind::tensor) return {};
  if (!is_float8(tree, bytes) && !is_float8(tree, scale)) return {};
  Match weight;
  for (const std::string_view name : weight_scales) {
    const NodeId node = tree.find(map, name);
    if (node != nowhere && tree.kind(node) == Kind::tensor) weight.parts.push_back({std::string(name), node, {}});
  }
  return {std::move(weight)};
}

constexpr auto torchao_rebuilt = std::to_array<std::string_view>({"_rebuild_wrapper_subclass"});

constexpr Fp8Rule delayed(std::string_view role, std::string_view scale, std::string_view history,
                          std::string_view newest_amax, double format_max) {
  Fp8Rule rule = scale_of(role, scale, format_max);
  rule.history = history;
  rule.newest = newest_amax;
  return rule;
}

constexpr auto delayed_rules = std::to_array<Fp8Rule>({
    delayed("input", "fp8_scale_input", "fp8_amax_history_input", "fp8_amax_input", fp8_largest_e4m3),
    delayed("weight", "fp8_scale_weight", "fp8_amax_history_weight", "fp8_amax_weight", fp8_largest_e4m3),
    delayed("grad_output", "fp8_scale_grad_output", "fp8_amax_history_grad_output", "fp8_amax_grad_output",
            fp8_largest_e5m2),
    delayed("input", "fp8_scale_x", "fp8_amax_history_x", "fp8_amax_x", fp8_largest_e4m3),
    delayed("weight", "fp8_scale_w", "fp8_amax_history_w", "fp8_amax_w", fp8_largest_e4m3),
    delayed("grad_output", "fp8_scale_dL_dY", "fp8_amax_history_dL_dY", "fp8_amax_dL_dY", fp8_largest_e5m2),
});
constexpr Fp8Convention delayed_conventions[] = {
    {AgeOrder::first, ScaleMeaning::multiplier, ScaleUse::recomputed, delayed_rules},
};

/// As 0.7 to 0.9 have it.
float torchao_next_scale(float, float amax, float fp8_max, float) {
  return kernels::fp8::torchao_scale({}, amax, fp8_max);
}

constexpr auto weight_rules = std::to_array<Fp8Rule>({
    scale_of("weight", "scale"),
    scale_of("weight_global", "per_tensor_scale", fp4_largest),
    calibrated(scale_of("input_global", "act_per_tensor_scale", fp4_largest)),
    calibrated(scale_of("input", "act_quant_scale")),
    calibrated(scale_of("output", "output_act_quant_scale")),
});
constexpr Fp8Convention weight_conventions[] = {
    {AgeOrder::first, ScaleMeaning::divisor, ScaleUse::stored_data, weight_rules},
};
constexpr auto torchao_classes = std::to_array<ClassName>({
    {"torchao.optim.subclass_fp8", "OptimStateFp8"},
    {"torchao.prototype.mx_formats.mx_tensor", "MXTensor"},
    {"torchao.prototype.mx_formats.nvfp4_tensor", "NVFP4Tensor"},
    {"torchao.quantization", "Float8Tensor"},
    {"torchao.quantization.quantize_.common.kernel_preference", "KernelPreference"},
});

}  // namespace

constinit const Dialect torchao_delayed_state = {
    .name = "torchao_delayed",
    .kind = "fp8",
    .framework = "torchao's delayed scaling",
    .find_in = find_buffers,
    .telling_word = torchao_buffer_mark,
    .fp8 = {delayed_conventions, "torchao_delayed", torchao_next_scale},
};

constinit const Dialect torchao_weight = {
    .name = "torchao",
    .kind = "fp8",
    .framework = "torchao's Float8Tensor, MXTensor and NVFP4Tensor",
    .form = Form::object,
    .find_in = find_weight,
    .class_names = torchao_rebuilt,
    .classes = torchao_classes,
    .fp8 = {weight_conventions},
};

/// Where it flattens its tensors for safetensors: _weight_qdata and _weight_scale. Source:
/// torchao/prototype/safetensors/safetensors_support.py.
constinit const Dialect torchao_flat_weight = {
    .name = "torchao",
    .kind = "fp8",
    .framework = "torchao's tensors in safetensors",
    .find_in = found_with_other_weights,
    .telling_word = "scale",
    .fp8 = {weight_conventions},
};

}  // namespace tare
