// TransformerEngine for JAX, delayed scaling: variables of each module in the collection fp8_metas, or
// _overwrite_with_gradient, named by the tensor and, in modules of two matrix products, by the product. An update
// writes to a history's first entry, makes a scale of all, and turns the history round as in PyTorch. Releases before
// 2.3 name and order them otherwise: those are told, and not read. Sources: transformer_engine/jax/flax/module.py,
// transformer_engine/jax/quantize/quantizer.py; of 2.2 and before, jax/flax/module.py and jax/fp8.py.
#include <algorithm>
#include <array>
#include <string>

#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/frameworks/transformer_engine.hpp"

namespace tare {
namespace {

constexpr Fp8Rule jax_rule(std::string_view role, std::string_view scale, std::string_view history, double format_max) {
  Fp8Rule rule;
  rule.role = role;
  rule.scale = scale;
  rule.history = history;
  rule.format_max = format_max;
  return rule;
}

constexpr auto jax_rules = std::to_array<Fp8Rule>({
    jax_rule("input", "x_scale", "x_amax_history", fp8_largest_e4m3),
    jax_rule("weight", "kernel_scale", "kernel_amax_history", fp8_largest_e4m3),
    jax_rule("grad_output", "grad_scale", "grad_amax_history", fp8_largest_e5m2),
    jax_rule("input.0", "x_0_scale", "x_0_amax_history", fp8_largest_e4m3),
    jax_rule("weight.0", "kernel_0_scale", "kernel_0_amax_history", fp8_largest_e4m3),
    jax_rule("grad_output.0", "grad_0_scale", "grad_0_amax_history", fp8_largest_e5m2),
    jax_rule("input.1", "x_1_scale", "x_1_amax_history", fp8_largest_e4m3),
    jax_rule("weight.1", "kernel_1_scale", "kernel_1_amax_history", fp8_largest_e4m3),
    jax_rule("grad_output.1", "grad_1_scale", "grad_1_amax_history", fp8_largest_e5m2),
});
constexpr std::size_t jax_tensors_of_product = 3;
constexpr Fp8Convention jax_conventions[] = {
    {AgeOrder::last_first, ScaleMeaning::multiplier, ScaleUse::recomputed, jax_rules},
};

bool is_jax_item(std::string_view key) {
  const std::string_view name = key.substr(key.rfind('.') + 1);
  return std::ranges::any_of(jax_rules,
                             [&](const Fp8Rule& rule) { return rule.scale == name || rule.history == name; });
}

bool is_array(const Tree& tree, NodeId node) {
  return node != nowhere && (tree.kind(node) == Kind::array || tree.kind(node) == Kind::tensor);
}

/// Of older releases, some of the names.
bool is_older(const Tree& tree, NodeId map) {
  return is_array(tree, tree.find(map, "fp8_meta_amax")) || is_array(tree, tree.find(map, "amax_i_0"));
}

/// All tensors of a matrix product, or none.
Matches find_in_jax(const Tree& tree, NodeId map, NodeId) {
  Match match;
  if (is_older(tree, map)) {
    match.problem = "the FP8 state of TransformerEngine for JAX before 2.3 is not read";
    return {match};
  }
  for (std::size_t first = 0; first < jax_rules.size(); first += jax_tensors_of_product) {
    const auto product = std::span(jax_rules).subspan(first, jax_tensors_of_product);
    const bool is_there = std::ranges::all_of(product, [&](const Fp8Rule& rule) {
      return is_array(tree, tree.find(map, rule.scale)) && is_array(tree, tree.find(map, rule.history));
    });
    if (!is_there) continue;
    for (const Fp8Rule& rule : product) {
      match.parts.push_back({std::string(rule.scale), tree.find(map, rule.scale), {}});
      match.parts.push_back({std::string(rule.history), tree.find(map, rule.history), {}});
    }
  }
  return match.parts.empty() ? Matches() : Matches{match};
}

}  // namespace

constinit const Dialect transformer_engine_jax_state = {
    .name = "transformer_engine_jax",
    .kind = "fp8",
    .framework = "TransformerEngine for JAX",
    .form = Form::map,
    .find_in = find_in_jax,
    .telling_word = "amax",
    .fp8 = {jax_conventions, "transformer_engine", transformer_engine_next_scale, HistoryResize::entry_age,
            is_jax_item},
};

}  // namespace tare
