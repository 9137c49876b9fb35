// Source: transformer_engine/pytorch/module/base.py, get_extra_state: up to 2.5 a module with FP8 on pickles its recipe
// whatever it is, and scales beside it for delayed scaling alone; later one stores nothing for a recipe without scales.
#include "lib/dialect/empty_fp8.hpp"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/dialect/frameworks/transformer_engine.hpp"
#include "lib/dialect/walk.hpp"

namespace tare {
namespace {

/// The class of a recipe beside which no scales stand; empty: there are some, or there is no recipe.
std::string recipe_alone(const Tree& document) {
  const NodeId root = document.root;
  if (document.kind(root) != Kind::map || document.find(root, "scale_fwd") != nowhere) return {};
  const NodeId recipe = document.find(root, "recipe");
  return recipe == nowhere ? std::string() : std::string(document.qualified_name(recipe).name);
}

struct Modules {
  std::size_t all = 0, empty = 0, with_recipe = 0;
  std::set<std::string> recipes;
};

Modules modules_of(const Tree& tree) {
  Modules modules;
  TreeWalk walk(tree);
  while (walk.next()) {
    const NodeId map = walk.step(walk.current()).node;
    if (tree.kind(map) != Kind::map) continue;
    const auto pairs = tree.items(map);
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      if (tree.kind(pairs[i]) != Kind::string || !is_extra_state(tree.text(pairs[i]))) continue;
      ++modules.all;
      std::string path;
      const LackOfScales lack = lack_of_scales(tree, unwrapped_extra_state(tree, pairs[i + 1], path));
      modules.empty += lack.is_empty ? 1 : 0;
      if (lack.recipe.empty()) continue;
      ++modules.with_recipe;
      modules.recipes.insert(lack.recipe);
    }
  }
  return modules;
}

}  // namespace

LackOfScales lack_of_scales(const Tree& tree, NodeId state) {
  if (tree.kind(state) == Kind::none) return {true};
  if (tree.kind(state) == Kind::tensor) {
    const Tensor tensor = tree.tensor(state);
    if (tensor.type.name != "uint8" || tensor.shape.size() != 1) return {};
    if (tensor.shape[0] == 0) return {true};
  } else if (tree.kind(state) != Kind::opaque) {
    return {};
  }
  try {
    const auto document = tree.open(state);
    if (document == nullptr) return {};
    return {document->kind(document->root) == Kind::none, recipe_alone(*document)};
  } catch (const Error&) {
    return {};  // told of where state is looked for
  }
}

std::optional<Finding> told_of_empty_fp8(const Tree& tree) {
  const Modules modules = modules_of(tree);
  const std::size_t without = modules.empty + modules.with_recipe;
  if (without == 0) return std::nullopt;
  std::vector<std::string> meanings;
  if (modules.with_recipe > 0) {
    meanings.push_back(
        fmt::format("{} of recipe {}, which keeps none", modules.with_recipe, fmt::join(modules.recipes, ", ")));
  }
  if (modules.empty > 0) {
    meanings.push_back(
        fmt::format("{} empty: FP8 was off when it was saved, or its recipe keeps nothing between steps "
                    "(current scaling, block scaling, MXFP8); with delayed scaling a resume begins at "
                    "scales of 1",
                    modules.empty));
  }
  return Finding{
      Severity::note, "fp8-state-empty",
      fmt::format("{} of {} FP8 modules without scales: {}", without, modules.all, fmt::join(meanings, "; ")), "", ""};
}

}  // namespace tare
