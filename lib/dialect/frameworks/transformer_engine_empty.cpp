// Source: transformer_engine/pytorch/module/base.py and ops/op.py, get_extra_state: from 2.0 to 2.17 a module with FP8
// on pickles its recipe whatever it is, and scales beside it for delayed scaling alone; 2.18 and later store nothing
// for a recipe without scales. te.ops have a recipe for each direction, or an empty dict.
#include "lib/dialect/frameworks/transformer_engine_empty.hpp"

#include <fmt/format.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/dialect/frameworks/transformer_engine.hpp"
#include "lib/dialect/walk.hpp"
#include "lib/tree/path.hpp"

namespace tare {
namespace {

/// The class of a recipe beside which no scales stand; empty: there are some, or there is no recipe.
std::string recipe_alone(const Tree& document) {
  std::string recipe;
  const NodeId root = document.root;
  for (const NodeId dict : {root, document.find(root, "forward"), document.find(root, "backward")}) {
    if (dict == nowhere || document.kind(dict) != Kind::map) continue;
    if (document.find(dict, "scale_fwd") != nowhere || document.find(dict, "scale_bwd") != nowhere) return {};
    const NodeId its = document.find(dict, "recipe");
    if (its != nowhere && recipe.empty()) recipe = document.qualified_name(its).name;
  }
  return recipe;
}

bool is_none(const Tree& document) {
  const Kind kind = document.kind(document.root);
  return kind == Kind::none || (kind == Kind::map && document.items(document.root).empty());
}

/// Of te.ops: a dict for each direction, or an empty one.
bool is_of_operation(const Tree& document) {
  const NodeId root = document.root;
  if (document.kind(root) != Kind::map) return false;
  return document.items(root).empty() || document.find(root, "forward") != nowhere ||
         document.find(root, "backward") != nowhere;
}

/// What a module's extra state lacks.
struct LackOfScales {
  bool is_empty = false;      ///< None, an empty tensor, or a document of None or of an empty dict
  std::string recipe = {};    ///< the class of the recipe that stands there without scales; empty: none does
  bool is_operation = false;  ///< of te.ops

  [[nodiscard]] bool is_there() const { return is_empty || !recipe.empty(); }
};

/// Opens the state, as `unwrapped_extra_state` gives it.
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
    return {is_none(*document), recipe_alone(*document), is_of_operation(*document)};
  } catch (const Error&) {
    return {};  // told of where state is looked for
  }
}

using Visitor = std::function<void(const TreeWalk& at_map, NodeId key, NodeId value)>;

/// Every key of a module's extra state, whatever stands under it.
void visit_extra_states(const Tree& tree, const Visitor& visit) {
  TreeWalk walk(tree);
  while (walk.next()) {
    const NodeId map = walk.step(walk.current()).node;
    if (tree.kind(map) != Kind::map) continue;
    const auto pairs = tree.items(map);
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      if (tree.kind(pairs[i]) == Kind::string && is_extra_state(tree.text(pairs[i])))
        visit(walk, pairs[i], pairs[i + 1]);
    }
  }
}

/// Quick to say no: most files are of models without FP8.
bool has_extra_states(const Tree& tree) {
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) == Kind::string && is_extra_state(tree.text(id))) return true;
  }
  return false;
}

struct Modules {
  std::size_t all = 0, empty = 0, with_recipe = 0;
  std::set<std::string> recipes;
};

Modules modules_of(const Tree& tree) {
  Modules modules;
  visit_extra_states(tree, [&](const TreeWalk&, NodeId, NodeId value) {
    ++modules.all;
    std::string path;
    LackOfScales lack = lack_of_scales(tree, unwrapped_extra_state(tree, value, path));
    modules.empty += lack.is_empty ? 1 : 0;
    if (lack.recipe.empty()) return;
    ++modules.with_recipe;
    modules.recipes.insert(std::move(lack.recipe));
  });
  return modules;
}

}  // namespace

std::vector<UnscaledModule> modules_without_scales(const Tree& tree) {
  std::vector<UnscaledModule> found;
  std::optional<GroupedModules> grouped;
  NodeId last_map = nowhere;
  visit_extra_states(tree, [&](const TreeWalk& at_map, NodeId key, NodeId value) {
    UnscaledModule place{key_path(at_map.path(at_map.current()), tree.key_text(key)), value};
    place.holder = unwrapped_extra_state(tree, place.holder, place.path);
    LackOfScales lack = lack_of_scales(tree, place.holder);
    if (!lack.is_there()) return;
    place.recipe = std::move(lack.recipe);
    place.is_operation = lack.is_operation;
    place.is_stream = tree.kind(place.holder) == Kind::opaque;
    const NodeId map = at_map.step(at_map.current()).node;
    if (std::exchange(last_map, map) != map) grouped.emplace(tree, map);
    place.is_grouped = grouped->contains(tree.text(key));
    found.push_back(std::move(place));
  });
  return found;
}

std::optional<Finding> told_of_empty_fp8(const Tree& tree) {
  if (!has_extra_states(tree)) return std::nullopt;
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
