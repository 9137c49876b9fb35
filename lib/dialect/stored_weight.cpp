// Models whose weights are stored in 8 or 4 bits, with their scales as tensors beside them. Who wrote them tells what
// lies beside a scale, by the same module's name:
//   compressed-tensors   weight_scale, input_scale ...; packed to 4 bits weight_packed and weight_global_scale
//   AutoFP8, Mistral     the same by other names: act_scale; qscale_weight and qscale_act
//   FBGEMM               the same, and gate_up_proj_scale of experts in one tensor, gate_up_proj
//   ModelOpt             weight_scale and weight_scale_2 of NVFP4; its FP8 is like compressed-tensors'
//   DeepSeek             weight_scale_inv, a divisor as well in spite of its name; `scale` in its own inference format;
//                        gate_up_proj_scale_inv of experts in one tensor
//   gpt-oss, Quark       MXFP4: blocks and scales, or a weight of bytes whose scales are bytes, too
//   ComfyUI              scale_weight and scale_input; later weight_scale with a comfy_quant that names the format
//   torchao              _weight_qdata and _weight_scale, where it flattens its tensors for safetensors
// Sources: compressed_tensors/compressors/, modelopt/torch/export/, transformers' integrations of finegrained_fp8,
// fbgemm_fp8 and mxfp4, vllm/model_executor/models/mistral.py, auto_fp8/quantize.py, ComfyUI's QUANTIZATION.md,
// torchao/prototype/safetensors/safetensors_support.py.
#include "lib/dialect/stored_weight.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "lib/base/holds.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/parts_by_module.hpp"
#include "lib/dialect/walk.hpp"
#include "lib/tree/path.hpp"

namespace tare {
namespace {

/// The last part of a scale's key. Longer names stand before those that they end in.
struct ScaleName {
  std::string_view name;
  /// Whether it can stand behind '_', too, where one module has several weights: experts.gate_up_proj_scales.
  bool can_be_joined = false;
};

constexpr auto scale_names = std::to_array<ScaleName>({
    {"weight_global_scale", true},
    {"input_global_scale", true},
    {"weight_scale_inv", true},
    {"weight_scale_2", true},
    {"weight_scale", true},
    {"scale_inv", true},
    {"activation_scale", true},
    {"qscale_weight"},
    {"qscale_act"},
    {"act_scale"},
    {"act_per_tensor_scale", true},
    {"output_act_quant_scale", true},
    {"act_quant_scale", true},
    {"per_tensor_scale", true},
    {"input_scale", true},
    {"output_scale"},
    {"scale_weight"},
    {"scale_input"},
    {"q_scale"},
    {"k_scale"},
    {"v_scale"},
    {"kv_scale"},
    {"scales", true},
    {"scale", true},
});

bool is_float8(ElementType type) {
  return type.name.starts_with("float8");
}

/// The keys of one map, for many looks at what is beside a key.
class Keys {
 public:
  Keys(const Tree& tree, NodeId map) : tree_(tree) {
    const auto pairs = tree.items(map);
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      if (tree.kind(pairs[i]) == Kind::string) nodes_.try_emplace(tree.text(pairs[i]), pairs[i + 1]);
    }
  }

  /// Whether there are float8 weights beside them.
  [[nodiscard]] bool has_float8() const {
    const auto is_one = [&](const auto& entry) { return holds_float8(entry.second); };
    if (!has_float8_) has_float8_ = std::ranges::any_of(nodes_, is_one);
    return *has_float8_;
  }
  [[nodiscard]] bool has(const std::string& key) const { return nodes_.contains(key); }
  /// The type of its elements; size 0 where there is no such tensor, or nobody knows its type.
  [[nodiscard]] ElementType type(const std::string& key) const {
    const auto found = nodes_.find(key);
    const bool is_tensor = found != nodes_.end() && tree_.kind(found->second) == Kind::tensor;
    return is_tensor ? tree_.tensor(found->second).type : ElementType{};
  }

 private:
  [[nodiscard]] bool holds_float8(NodeId node) const {
    return tree_.kind(node) == Kind::tensor && is_float8(tree_.tensor(node).type);
  }

  const Tree& tree_;
  std::unordered_map<std::string_view, NodeId, KeyedHash> nodes_;
  mutable std::optional<bool> has_float8_;  ///< once somebody has asked
};

bool is_byte(ElementType type) {
  return type.name == "uint8";
}

/// One scale, and how the names of what lies beside it begin.
struct Found {
  std::string_view module, name;
  char separator = '.';

  [[nodiscard]] std::string beside(std::string_view other) const {
    return module.empty() ? std::string(other) : std::string(module).append(1, separator).append(other);
  }
};

/// Of stored integers the scales have the same names.
bool is_fp8_weight(ElementType weight) {
  return weight.size == 0 || is_float8(weight);  // it may stand in another file
}

constexpr auto attention_scales = std::to_array<std::string_view>({"q_scale", "k_scale", "v_scale", "kv_scale"});

/// Of attention, whose module has no weight of its own, or whose projection keeps one in any type: a scale for all that
/// goes into the cache of keys and values. Vectors of that name are learned, unless the model is stored in FP8.
bool is_attention_scale(const Keys& keys, ElementType weight, const Tensor& scale) {
  const bool is_integer = weight.size != 0 && !is_float8(weight) && weight.name.find("float") == weight.name.npos;
  return !is_integer && (scale.count() == 1 || keys.has_float8());
}

const Dialect* writer_of_weight_scale(const Keys& keys, const Found& scale, const Tensor& tensor) {
  if (keys.has(scale.beside("comfy_quant"))) return &comfyui_weight;
  if (keys.has(scale.beside("weight_packed"))) {
    return is_byte(keys.type(scale.beside("weight_packed"))) ? &compressed_tensors_fp4_weight : nullptr;
  }
  if (keys.has(scale.beside("weight_global_scale")) || keys.has(scale.beside("input_global_scale"))) {
    return &compressed_tensors_fp4_weight;
  }
  if (keys.has(scale.beside("weight_scale_2"))) {
    // Beside scales of another type 4 bits are integers, as in ModelOpt's W4A8.
    const ElementType blocks = keys.type(scale.beside("weight_scale"));
    return blocks.size == 0 || is_float8(blocks) ? &modelopt_weight : nullptr;
  }
  // One of several weights of a module has the module's own name: experts.gate_up_proj.
  const ElementType named = keys.type(scale.beside("weight"));
  const ElementType weight = named.size != 0 || scale.separator == '.' ? named : keys.type(std::string(scale.module));
  const ElementType block_scale = scale.name == "weight_scale" ? tensor.type : keys.type(scale.beside("weight_scale"));
  if (is_byte(weight) && (is_byte(block_scale) || is_float8(block_scale))) return &mxfp4_weight;
  const bool is_known =
      holds(attention_scales, scale.name) ? is_attention_scale(keys, weight, tensor) : is_fp8_weight(weight);
  return is_known ? &compressed_tensors_weight : nullptr;
}

/// Who wrote a scale of that type; null for what is none of a stored weight.
const Dialect* writer_of(const Keys& keys, const Found& scale, const Tensor& tensor) {
  const auto is_one_of = [&](auto... names) { return ((scale.name == names) || ...); };
  if (is_one_of("scales")) return is_byte(keys.type(scale.beside("blocks"))) ? &mxfp4_weight : nullptr;
  if (is_one_of("scale_weight", "scale_input")) {
    return is_fp8_weight(keys.type(scale.beside("weight"))) ? &comfyui_weight : nullptr;
  }
  // Experts in one tensor, which has the name that stands before the scale's.
  const bool is_of_named = scale.separator == '_' && is_float8(keys.type(std::string(scale.module)));
  if (is_one_of("scale") && is_of_named) return &compressed_tensors_weight;
  if (is_one_of("scale_inv", "activation_scale") && scale.separator == '_') {
    return is_of_named ? &deepseek_fp8_weight : nullptr;
  }
  if (is_one_of("scale_inv")) return nullptr;
  if (is_one_of("qscale_weight", "qscale_act", "act_scale")) {
    return is_float8(keys.type(scale.beside("weight"))) ? &compressed_tensors_weight : nullptr;
  }
  if (is_one_of("scale", "per_tensor_scale", "act_per_tensor_scale", "act_quant_scale", "output_act_quant_scale")) {
    if (scale.separator == '_') {
      const ElementType data = keys.type(scale.beside("qdata"));
      const ElementType block_scale = keys.type(scale.beside("scale"));
      return is_float8(data) || (is_byte(data) && is_float8(block_scale)) ? &torchao_flat_weight : nullptr;
    }
    const ElementType weight = keys.type(scale.beside("weight"));
    const bool is_packed = weight.size == 1 && tensor.type.name == "float8_e8m0fnu";
    return is_one_of("scale") && (is_float8(weight) || is_packed) ? &deepseek_fp8_weight : nullptr;
  }
  if (is_one_of("weight_scale_inv", "activation_scale")) {
    const bool is_alone = !is_one_of("weight_scale_inv") && !keys.has(scale.beside("weight_scale_inv"));
    const ElementType weight = keys.type(scale.beside("weight"));
    return !is_alone && (is_fp8_weight(weight) || is_byte(weight)) ? &deepseek_fp8_weight : nullptr;
  }
  const bool is_joined_input = scale.separator == '_' && !scale.name.starts_with("weight");
  if (is_joined_input && !keys.has(scale.beside("weight_scale"))) return nullptr;
  return writer_of_weight_scale(keys, scale, tensor);
}

/// A key's parts; a name that is empty where it is no scale's.
Found parts_of(std::string_view key) {
  for (const ScaleName& row : scale_names) {
    if (!key.ends_with(row.name)) continue;
    if (key.size() == row.name.size()) return {{}, row.name, '.'};
    const char separator = key[key.size() - row.name.size() - 1];
    const std::string_view module = key.substr(0, key.size() - row.name.size() - 1);
    const bool is_joined = separator == '_' && row.can_be_joined && !module.empty() && !module.ends_with('.');
    if (separator == '.' || is_joined) return {module, row.name, separator};
  }
  return {};
}

/// Quick to say no: a scaler's own scale is a number.
bool holds_scale_tensor(const Tree& tree, NodeId map) {
  const auto pairs = tree.items(map);
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (tree.kind(pairs[i + 1]) != Kind::tensor || tree.kind(pairs[i]) != Kind::string) continue;
    const std::string_view key = tree.text(pairs[i]);
    if (key.find("scale", key.rfind('.') + 1) != key.npos) return true;
  }
  return false;
}

/// Quick to say no: most files are of models without quantised weights.
bool names_weight_scale(const Tree& tree) {
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) == Kind::string && tree.text(id).ends_with("weight_scale")) return true;
  }
  return false;
}

}  // namespace

Matches find_stored_weights(const Tree& tree, NodeId map, NodeId) {
  if (!holds_scale_tensor(tree, map)) return {};
  std::optional<Keys> keys;
  std::map<const Dialect*, PartsByModule> found;
  const auto pairs = tree.items(map);
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (tree.kind(pairs[i]) != Kind::string || tree.kind(pairs[i + 1]) != Kind::tensor) continue;
    const std::string_view key = tree.text(pairs[i]);
    if (key.find("scale", key.rfind('.') + 1) == key.npos) continue;
    const Found scale = parts_of(key);
    if (scale.name.empty()) continue;
    if (!keys) keys.emplace(tree, map);
    const Dialect* writer = writer_of(*keys, scale, tree.tensor(pairs[i + 1]));
    if (writer != nullptr) found[writer].add({scale.module, scale.name, pairs[i + 1], key});
  }
  Matches all;
  for (const Dialect* writer : dialects()) {
    const auto its = found.find(writer);
    if (its == found.end()) continue;
    Matches matches = its->second.take();
    for (Match& match : matches) match.dialect = writer;
    all.splice(all.end(), matches);
  }
  return all;
}

ScaledTypes scaled_types(const Tree& tree) {
  ScaledTypes types;
  if (!names_weight_scale(tree)) return types;
  TreeWalk walk(tree);
  while (walk.next()) {
    const NodeId map = walk.step(walk.current()).node;
    if (tree.kind(map) != Kind::map || !holds_scale_tensor(tree, map)) continue;
    const Keys keys(tree, map);
    const auto pairs = tree.items(map);
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      if (tree.kind(pairs[i]) != Kind::string) continue;
      const Found scale = parts_of(tree.text(pairs[i]));
      if (scale.name != "weight_scale") continue;
      const ElementType weight = keys.type(scale.beside("weight"));
      types.have_int8 = types.have_int8 || weight.name == "int8";
      types.have_float8 = types.have_float8 || is_float8(weight);
    }
  }
  return types;
}

bool is_told_by_weight_alone(const FoundScaler& scaler) {
  const auto is_of_attention = [](const Field& field) { return holds(attention_scales, field.name); };
  return scaler.dialect == &compressed_tensors_weight && std::ranges::none_of(scaler.fields, is_of_attention);
}

Matches found_with_other_weights(const Tree&, NodeId, NodeId) {
  return {};
}

}  // namespace tare
