// Models whose weights are FP8, with their scales as tensors beside them: DeepSeek's `weight_scale_inv` (a multiplier
// in spite of its name, one a block of 128 x 128), and what llm-compressor and its kin write as compressed-tensors.
#include <algorithm>
#include <array>
#include <span>

#include "lib/dialect/parts_by_module.hpp"
#include "lib/dialect/shapes.hpp"
#include "lib/tree/path.hpp"

namespace tare {
namespace {

constexpr auto deepseek_names = std::to_array<std::string_view>({"weight_scale_inv"});
constexpr auto compressed_names =
    std::to_array<std::string_view>({"weight_scale", "input_scale", "output_scale", "k_scale", "v_scale"});

/// Integer weights have scales of the same names.
bool is_other_weight(const Tree& tree, NodeId map, std::string_view module) {
  const NodeId weight = tree.find(map, key_path(module, "weight"));
  if (weight == nowhere || tree.kind(weight) != Kind::tensor) return false;  // it may stand in another file
  const ElementType type = tree.tensor(weight).type;
  return type.size != 0 && !type.name.starts_with("float8");
}

/// Tensors MODULE.NAME of those names, by module.
std::vector<Sighting> find_named(const Tree& tree, NodeId map, std::span<const std::string_view> names) {
  return parts_by_module(tree, map, [&](const ModuleKey& key) {
    if (!key.name.ends_with("_scale") && !key.name.ends_with("_scale_inv")) return false;
    return tree.kind(key.value) == Kind::tensor && std::find(names.begin(), names.end(), key.name) != names.end() &&
           !is_other_weight(tree, map, key.module);
  });
}

std::vector<Sighting> find_deepseek(const Tree& tree, NodeId map, NodeId) {
  return find_named(tree, map, deepseek_names);
}

std::vector<Sighting> find_compressed(const Tree& tree, NodeId map, NodeId) {
  return find_named(tree, map, compressed_names);
}

}  // namespace

const Dialect deepseek_fp8_weight{
    .name = "deepseek_fp8",
    .kind = "fp8",
    .framework = "DeepSeek's FP8 weights",
    .find_in = find_deepseek,
};

const Dialect compressed_tensors_weight{
    .name = "compressed_tensors",
    .kind = "fp8",
    .framework = "compressed-tensors' FP8 weights",
    .find_in = find_compressed,
};

}  // namespace tare
