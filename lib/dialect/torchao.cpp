// torchao's FP8: the buffers of delayed scaling (0.4 to 0.9), and quantised weights. Sources: torchao/float8/
// stateful_float8_linear.py of those releases, torchao/quantization/quantize_/workflows/float8/float8_tensor.py.
#include <algorithm>
#include <array>

#include "lib/dialect/parts_by_module.hpp"
#include "lib/dialect/shapes.hpp"

namespace tare {
namespace {

constexpr std::string_view buffer_mark = "fp8_";

constexpr auto buffer_beginnings =
    std::to_array<std::string_view>({"fp8_amax_history_", "fp8_amax_", "fp8_scale_", "fp8_static_scale_"});
/// From July 2024 on, and before.
constexpr auto tensors = std::to_array<std::string_view>({"input", "weight", "grad_output", "x", "w", "dL_dY"});

bool is_buffer(std::string_view name) {
  return std::any_of(buffer_beginnings.begin(), buffer_beginnings.end(), [&](std::string_view beginning) {
    return name.starts_with(beginning) &&
           std::find(tensors.begin(), tensors.end(), name.substr(beginning.size())) != tensors.end();
  });
}

/// Buffers stand in the state dict as MODULE.BUFFER, or in a dict of the module's own.
std::vector<Sighting> find_buffers(const Tree& tree, NodeId map, NodeId) {
  return parts_by_module(tree, map,
                         [](const ModuleKey& key) { return key.name.starts_with(buffer_mark) && is_buffer(key.name); });
}

constexpr auto weight_scales = std::to_array<std::string_view>(
    {"scale", "per_tensor_scale", "act_per_tensor_scale", "act_quant_scale", "output_act_quant_scale"});

bool is_float8(const Tree& tree, NodeId node) {
  return node != nowhere && tree.kind(node) == Kind::tensor && tree.tensor(node).type.name.starts_with("float8");
}

/// The attributes of a Float8Tensor, MXTensor or NVFP4Tensor: its bytes, and what they are multiplied with. 4 bits are
/// packed to plain bytes, and their blocks' scales are FP8; plain bytes with other scales are integers.
std::vector<Sighting> find_weight(const Tree& tree, NodeId map, NodeId) {
  const NodeId scale = tree.find(map, "scale");
  const NodeId bytes = tree.find(map, "qdata");
  if (scale == nowhere || bytes == nowhere || tree.kind(scale) != Kind::tensor) return {};
  if (!is_float8(tree, bytes) && !is_float8(tree, scale)) return {};
  Sighting weight;
  for (const std::string_view name : weight_scales) {
    const NodeId node = tree.find(map, name);
    if (node != nowhere && tree.kind(node) == Kind::tensor) weight.parts.push_back({std::string(name), node, {}});
  }
  return {std::move(weight)};
}

constexpr auto rebuilt = std::to_array<std::string_view>({"_rebuild_wrapper_subclass"});

}  // namespace

const Dialect torchao_delayed_state{
    .name = "torchao_delayed",
    .kind = "fp8",
    .framework = "torchao's delayed scaling",
    .find_in = find_buffers,
};

const Dialect torchao_weight{
    .name = "torchao",
    .kind = "fp8",
    .framework = "torchao's Float8Tensor, MXTensor and NVFP4Tensor",
    .form = Form::object,
    .find_in = find_weight,
    .class_names = rebuilt,
};

}  // namespace tare
