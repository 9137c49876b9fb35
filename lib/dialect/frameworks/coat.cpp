// COAT's AdamW: both moments in FP8, with a scale for each group of qgroup_size elements (128) and, where it expands
// the range, an exponent and a middle for each. Source: coat/optimizer/fp8_adamw.py.
#include <algorithm>
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto coat_names = std::to_array<std::string_view>({
    "scale_exp_avg",
    "expand_exp_avg",
    "sqrt_minmax_exp_avg",
    "scale_exp_avg_sq",
    "expand_exp_avg_sq",
    "sqrt_minmax_exp_avg_sq",
});

/// An optimizer's state of one parameter.
Matches find_in_coat(const Tree& tree, NodeId map, NodeId) {
  if (tree.find(map, coat_names[0]) == nowhere || tree.find(map, "exp_avg") == nowhere) return {};
  Match match;
  const auto pairs = tree.items(map);
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (tree.kind(pairs[i]) != Kind::string || tree.kind(pairs[i + 1]) != Kind::tensor) continue;
    const std::string_view name = tree.text(pairs[i]);
    if (std::ranges::find(coat_names, name) != coat_names.end())
      match.parts.push_back({std::string(name), pairs[i + 1], {}});
  }
  if (match.parts.empty()) return {};
  return {std::move(match)};
}

// The formats are a choice of its configuration, E4M3 for both if not given.
constexpr auto coat_rules = std::to_array<Fp8Rule>({
    scale_of("exp_avg", "scale_exp_avg"),
    scale_of("exp_avg_sq", "scale_exp_avg_sq"),
});
constexpr Fp8Convention coat_conventions[] = {
    {AgeOrder::first, ScaleMeaning::divisor, ScaleUse::stored_data, coat_rules},
};

}  // namespace

constinit const Dialect coat_moments = {
    .name = "coat",
    .kind = "fp8",
    .framework = "COAT's FP8 AdamW",
    .find_in = find_in_coat,
    .telling_word = coat_names[0],
    .fp8 = {coat_conventions},
};

}  // namespace tare
