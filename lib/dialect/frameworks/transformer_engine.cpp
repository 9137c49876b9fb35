// TransformerEngine's delayed scaling: the `_extra_state` of each module, in every form that its releases gave it: a
// list (0.1), a dict (0.3), a pickle in a uint8 tensor (0.6, and again from 2.0 on), an io.BytesIO with a torch.save
// (0.12 to 1.13), the pair of dicts of te.ops. Sources: transformer_engine/pytorch/module/base.py and ops/op.py of
// those releases.
#include "lib/dialect/frameworks/transformer_engine.hpp"

#include <algorithm>
#include <array>

#include "kernels/fp8/transformer_engine.hpp"
#include "lib/dialect/extra_state.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/grouped_linear.hpp"
#include "lib/tree/path.hpp"

namespace tare {
namespace {

constexpr std::string_view transformer_engine_ending = "_extra_state";

/// Those of Intel Gaudi's, too.
constexpr auto transformer_engine_arrays = std::to_array<std::string_view>({
    "scale_fwd",
    "scale_inv_fwd",
    "amax_history_fwd",
    "amax_history_index_fwd",
    "scale_hybrid",
    "scale_inv_hybrid",
    "amax_history_hybrid",
    "amax_history_index_hybrid",
    "scale_bwd",
    "scale_inv_bwd",
    "amax_history_bwd",
    "amax_history_index_bwd",
});
/// By position in the list of the first releases.
constexpr auto transformer_engine_listed =
    std::to_array<std::string_view>({"scale_fwd", "amax_history_fwd", "scale_bwd", "amax_history_bwd"});
constexpr std::size_t transformer_engine_list_size = 10;
constexpr auto transformer_engine_recipe_values = std::to_array<std::string_view>(
    {"margin", "amax_history_len", "amax_compute_algo", "reduce_amax", "fp8_dpa", "fp8_mha"});

constexpr auto transformer_engine_algorithms =
    std::to_array<std::string_view>({"amax_compute_algo", "scaling_factor_compute_algo"});

bool is_scalar(Kind kind) {
  return kind == Kind::boolean || kind == Kind::integer || kind == Kind::floating || kind == Kind::string;
}

class StateReader {
 public:
  StateReader(const Tree& tree, std::vector<Match::Part>& parts) : tree_(tree), parts_(parts) {}

  void read(NodeId state) {
    const auto items = tree_.items(state);
    if (tree_.kind(state) == Kind::list && items.size() == transformer_engine_list_size) {
      for (std::size_t i = 0; i < transformer_engine_listed.size(); ++i)
        add(std::string(transformer_engine_listed[i]), items[i]);
      return;
    }
    if (tree_.kind(state) != Kind::map) return;
    const NodeId ahead = tree_.find(state, forward), back = tree_.find(state, backward);
    const bool is_of_ops = ahead != nowhere || back != nowhere;
    is_of_ops ? read_directions(ahead, back) : read_module(state);
  }

 private:
  static constexpr std::string_view forward = "forward", backward = "backward", recipe = "recipe";
  static constexpr std::string_view variables = "extra_fp8_variables";

  void add(std::string name, NodeId node) { parts_.push_back({std::move(name), node, {}}); }

  void read_module(NodeId state) {
    read_arrays(state);
    read_recipe(recipe_in(state), std::string(recipe));
    read_variables(variables_in(state), std::string(variables));
  }

  /// te.ops keep one dict a direction. Mostly both have one recipe, which then has one name; two have the names of
  /// their dicts in front.
  void read_directions(NodeId ahead, NodeId back) {
    const bool has_two =
        recipe_in(ahead) != nowhere && recipe_in(back) != nowhere && recipe_in(ahead) != recipe_in(back);
    read_arrays(ahead);
    read_arrays(back);
    read_recipe(recipe_in(ahead), has_two ? key_path(forward, recipe) : std::string(recipe));
    const bool is_read = !has_two && recipe_in(ahead) != nowhere;
    if (!is_read) read_recipe(recipe_in(back), has_two ? key_path(backward, recipe) : std::string(recipe));
    read_variables(variables_in(ahead), key_path(forward, variables));
    read_variables(variables_in(back), key_path(backward, variables));
  }

  [[nodiscard]] NodeId recipe_in(NodeId dict) const { return tree_.find(dict, recipe); }
  [[nodiscard]] NodeId variables_in(NodeId dict) const { return tree_.find(dict, variables); }

  void read_arrays(NodeId state) {
    if (state == nowhere || tree_.kind(state) != Kind::map) return;
    const auto pairs = tree_.items(state);
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      const std::string key = tree_.key_text(pairs[i]);
      if (std::find(transformer_engine_arrays.begin(), transformer_engine_arrays.end(), key) !=
          transformer_engine_arrays.end())
        add(key, pairs[i + 1]);
    }
  }

  void read_recipe(NodeId node, const std::string& path) {
    const NodeId attributes = tree_.fields(node);
    for (const std::string_view name : transformer_engine_recipe_values) {
      const NodeId value = tree_.find(attributes, name);
      if (value != nowhere && is_scalar(tree_.kind(value))) add(key_path(path, name), value);
    }
    for (const std::string_view name : transformer_engine_algorithms) {
      const NodeId value = tree_.find(attributes, name);
      if (value != nowhere && tree_.kind(value) == Kind::name) add_function(key_path(path, name), value);
    }
    read_format(tree_.find(attributes, "fp8_format"), key_path(path, "fp8_format"));
    const NodeId text = tree_.find(attributes, recipe_text_field);
    if (text != nowhere && tree_.kind(text) == Kind::string) add(key_path(path, recipe_text_field), text);
  }

  /// A function of the user's own, by its name: it is never run.
  void add_function(std::string name, NodeId node) {
    const QualifiedName function = tree_.qualified_name(node);
    std::string text = std::string(function.module).append(".").append(function.name);
    parts_.push_back({std::move(name),
                      node,
                      {},
                      nowhere,
                      std::make_shared<const Value>(Value{std::move(text), std::string(fp8_function_type)})});
  }

  /// Format(_FormatHelper(max_fwd, max_bwd)): an enumeration by its value.
  void read_format(NodeId format, const std::string& path) {
    const auto arguments = format == nowhere ? std::span<const NodeId>() : tree_.items(tree_.arguments(format));
    if (arguments.size() != 1) return;
    const auto maxima = tree_.items(tree_.arguments(arguments[0]));
    if (maxima.size() != 2) return;
    add(key_path(path, "max_fwd"), maxima[0]);
    add(key_path(path, "max_bwd"), maxima[1]);
  }

  /// A dict, or pairs.
  void read_variables(NodeId node, const std::string& path) {
    if (node == nowhere) return;
    const auto items = tree_.items(node);
    if (tree_.kind(node) == Kind::map) {
      for (std::size_t i = 0; i < items.size(); i += 2) add_variable(path, items[i], items[i + 1]);
      return;
    }
    for (const NodeId item : items) {
      const auto pair = tree_.items(item);
      if (pair.size() == 2) add_variable(path, pair[0], pair[1]);
    }
  }

  void add_variable(const std::string& path, NodeId key, NodeId value) {
    if (!is_scalar(tree_.kind(value))) return;
    add(key_path(path, tree_.key_text(key)), value);
  }

  const Tree& tree_;
  std::vector<Match::Part>& parts_;
};

bool has_scales(const std::vector<Match::Part>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [](const Match::Part& part) { return part.name.starts_with("scale_"); });
}

/// The parts of a state; none where it holds no scales: other recipes keep nothing between steps, their extra state is
/// empty, or a recipe alone.
std::vector<Match::Part> parts_of(const Tree& tree, NodeId state) {
  std::vector<Match::Part> parts;
  StateReader(tree, parts).read(state);
  return has_scales(parts) ? parts : std::vector<Match::Part>();
}

std::vector<Match::Part> parts_in(const Tree& document) {
  return parts_of(document, document.root);
}

bool is_gaudis(const FoundScaler& state) {
  return state.find("amax_history_index_fwd") != nullptr;
}

const Dialect* whose(const FoundScaler& state) {
  return is_gaudis(state) ? &transformer_engine_gaudi_state : &transformer_engine_state;
}

const Dialect* whose_grouped(const FoundScaler& state) {
  return is_gaudis(state) ? &transformer_engine_gaudi_state : &transformer_engine_grouped_state;
}

Match sighting_of(const Tree& tree, std::string key, NodeId value) {
  Match match;
  match.path = std::move(key);
  match.dialect_of = whose;
  const NodeId state = unwrapped_extra_state(tree, value, match.path);
  const Kind kind = tree.kind(state);
  if (kind == Kind::map || kind == Kind::list) {
    match.parts = parts_of(tree, state);
  } else {
    match.holder = state;
    match.parts_in = parts_in;
  }
  return match;
}

/// TransformerEngine for Paddle, up to 1.13: a pickle in an array under this key.
constexpr std::string_view paddle_key = "fp8_state";

/// The first weight of a GroupedLinear; others have `weight`, fc1_weight and fc2_weight, or none.
constexpr std::string_view grouped_weight = "weight0";

Matches find_in_transformer_engine(const Tree& tree, NodeId map, NodeId) {
  Matches found;
  std::optional<GroupedModules> grouped;
  const auto pairs = tree.items(map);
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (tree.kind(pairs[i]) != Kind::string) continue;
    if (tree.text(pairs[i]).ends_with(paddle_key) && tree.kind(pairs[i + 1]) == Kind::array) {
      Match& unread = found.emplace_back();
      unread.path = tree.text(pairs[i]);
      unread.problem = "TransformerEngine's FP8 state for Paddle is not read";
    }
    if (!is_extra_state(tree.text(pairs[i]))) continue;
    if (!grouped) grouped.emplace(tree, map);
    Match& match = found.emplace_back(sighting_of(tree, tree.key_text(pairs[i]), pairs[i + 1]));
    if (grouped->contains(tree.text(pairs[i]))) match.dialect_of = whose_grouped;
  }
  return found;
}

constexpr std::string_view max_fwd = "extra_fp8_variables.fp8_max_fwd";
constexpr std::string_view max_bwd = "extra_fp8_variables.fp8_max_bwd";

constexpr auto transformer_engine_rules = std::to_array<Fp8Rule>({
    {"input", "scale_fwd", "scale_inv_fwd", "amax_history_fwd", max_fwd, fp8_largest_e4m3, 0, 3},
    {"weight", "scale_fwd", "scale_inv_fwd", "amax_history_fwd", max_fwd, fp8_largest_e4m3, 1, 3},
    {"output", "scale_fwd", "scale_inv_fwd", "amax_history_fwd", max_fwd, fp8_largest_e4m3, 2, 3},
    {"grad_output", "scale_bwd", "scale_inv_bwd", "amax_history_bwd", max_bwd, fp8_largest_e5m2, 0, 2},
    {"grad_input", "scale_bwd", "scale_inv_bwd", "amax_history_bwd", max_bwd, fp8_largest_e5m2, 1, 2},
});

/// Up to 0.5: no columns for what a product gives.
constexpr auto transformer_engine_old_rules = std::to_array<Fp8Rule>({
    {"input", "scale_fwd", "scale_inv_fwd", "amax_history_fwd", max_fwd, fp8_largest_e4m3, 0, 2},
    {"weight", "scale_fwd", "scale_inv_fwd", "amax_history_fwd", max_fwd, fp8_largest_e4m3, 1, 2},
    {"grad_output", "scale_bwd", "scale_inv_bwd", "amax_history_bwd", max_bwd, fp8_largest_e5m2, 0, 1},
});

/// te.ops' Quantize: what goes into it, either way.
constexpr auto transformer_engine_quantize_rules = std::to_array<Fp8Rule>({
    {"input", "scale_fwd", "scale_inv_fwd", "amax_history_fwd", max_fwd, fp8_largest_e4m3, 0, 1},
    {"grad_output", "scale_bwd", "scale_inv_bwd", "amax_history_bwd", max_bwd, fp8_largest_e5m2, 0, 1},
});

constexpr Fp8Convention transformer_engine_conventions[] = {
    {AgeOrder::last_first, ScaleMeaning::multiplier, ScaleUse::recomputed, transformer_engine_rules},
    {AgeOrder::last_first, ScaleMeaning::multiplier, ScaleUse::recomputed, transformer_engine_old_rules},
    {AgeOrder::last_first, ScaleMeaning::multiplier, ScaleUse::recomputed, transformer_engine_quantize_rules},
};

/// As the recipe has it: te.ops keep no variables.
std::optional<double> transformer_engine_format_max(const FoundScaler& state, const Fp8Rule& rule) {
  const bool is_back = rule.max_field == max_bwd;
  const Field* field = recipe_field(state, rule.scale, is_back ? "fp8_format.max_bwd" : "fp8_format.max_fwd");
  const bool is_number = field != nullptr && field->value.number() != nullptr && field->value.as_double() > 0;
  return is_number ? std::optional(field->value.as_double()) : std::nullopt;
}

constexpr auto transformer_engine_classes = std::to_array<ClassName>({
    {"transformer_engine.common.recipe", "CustomRecipe"},
    {"transformer_engine.common.recipe", "DelayedScaling"},
    {"transformer_engine.common.recipe", "Float8BlockScaling"},
    {"transformer_engine.common.recipe", "Float8CurrentScaling"},
    {"transformer_engine.common.recipe", "Format"},
    {"transformer_engine.common.recipe", "MMParams"},
    {"transformer_engine.common.recipe", "MXFP8BlockScaling"},
    {"transformer_engine.common.recipe", "NVFP4BlockScaling"},
    {"transformer_engine.common.recipe", "_FormatHelper"},
});

bool has_recipe(const FoundScaler& state) {
  return std::ranges::any_of(state.fields,
                             [](const Field& field) { return field.name.find("recipe.") != field.name.npos; });
}

/// The columns of a GroupedLinear of 1.x are all inputs, all weights, all outputs; 2.3 and later go product by product.
bool is_grouped_in_old_order(const FoundScaler& state) {
  return is_of_grouped_linear(state) && !has_recipe(state);
}

/// A module's own state by a release before those that put their recipe into it; te.ops keeps pairs of dicts.
bool is_without_recipe(const FoundScaler& state) {
  return state.dialect->fp8.is_item == is_extra_state && state.find("scale_fwd") != nullptr && !has_recipe(state);
}

/// Saved before pull 123, which put the inverses into the state; releases with a recipe in it do without them again.
bool has_no_inverse(const Tree&, const FoundScalers& scalers) {
  return std::ranges::any_of(
      scalers, [](const FoundScaler& one) { return is_without_recipe(one) && one.find("scale_inv_fwd") == nullptr; });
}

/// Saved before pull 323, which also put a note into the state that it is to be saved.
bool has_no_note(const Tree&, const FoundScalers& scalers) {
  return std::ranges::any_of(scalers, [](const FoundScaler& one) {
    return is_without_recipe(one) && one.find("extra_fp8_variables.fp8_checkpoint") == nullptr;
  });
}

constexpr auto transformer_engine_resumes = std::to_array<Resume>({
    {.when = "up to 0.7",
     .is_about = has_no_inverse,
     .what = "loads the scales without their inverses: until the next update FP8 is read back by those of a new module",
     .helps = "0.8 and later compute them of what is stored",
     .source = "NVIDIA/TransformerEngine#123",
     .why_read = "PyPI has no release before 1.9"},
    {.when = "up to 0.10",
     .is_about = has_no_note,
     .what = "saves None for modules whose last forward was not under fp8_autocast (an evaluation before the save): a "
             "resume of such a file begins with scales of 1",
     .helps = "0.11 and later keep what they have",
     .source = "NVIDIA/TransformerEngine#323",
     .why_read = "PyPI has no release before 1.9"},
});

}  // namespace

float transformer_engine_next_scale(float stored, float amax, float fp8_max, float two_to_margin) {
  return kernels::fp8::next_scale(kernels::fp8::TransformerEngineParams{.two_to_margin = two_to_margin}, stored, amax,
                                  fp8_max);
}

bool is_extra_state(std::string_view key) {
  key = key.substr(0, key.find("/shard_"));  // as Megatron-core stores a sharded object
  key = key.substr(0, key.find_last_not_of("0123456789") + 1);
  if (!key.ends_with(transformer_engine_ending)) return false;
  key.remove_suffix(transformer_engine_ending.size());
  return key.empty() || key.ends_with('.');  // not Megatron's argument ckpt_drop_redundant_extra_state
}

GroupedModules::GroupedModules(const Tree& tree, NodeId map) {
  const auto pairs = tree.items(map);
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (tree.kind(pairs[i]) != Kind::string || !tree.text(pairs[i]).ends_with(grouped_weight)) continue;
    with_weights_.insert(tree.text(pairs[i]).substr(0, tree.text(pairs[i]).size() - grouped_weight.size()));
  }
}

bool GroupedModules::contains(std::string_view extra_state_key) const {
  const std::string_view module = extra_state_key.substr(0, extra_state_key.rfind(transformer_engine_ending));
  constexpr std::string_view experts = "experts.linear_fc";
  const std::size_t at = module.rfind(experts);
  const bool is_of_experts = at != module.npos && (at == 0 || module[at - 1] == '.');
  return is_of_experts || with_weights_.contains(module);
}

bool is_of_grouped_linear(const FoundScaler& state) {
  const Field* products = state.find("extra_fp8_variables.num_gemms");
  const bool is_number = products != nullptr && products->value.number() != nullptr;
  const bool has_more_than_others = is_number && products->value.as_double() > most_products_of_others;
  return state.dialect == &transformer_engine_grouped_state || has_more_than_others;
}

NodeId unwrapped_extra_state(const Tree& tree, NodeId value, std::string& path) {
  const auto items = tree.kind(value) == Kind::list ? tree.items(value) : std::span<const NodeId>();
  if (items.size() != 1) return value;
  path = item_path(path, 0);
  return items.front();
}

namespace {

constexpr Dialect delayed_scaling = {
    .name = "transformer_engine",
    .kind = "fp8",
    .framework = "TransformerEngine's delayed scaling",
    .find_in = find_in_transformer_engine,
    .telling_word = "_state",  // of both keys
    .classes = transformer_engine_classes,
    .fp8 = {transformer_engine_conventions, "transformer_engine", transformer_engine_next_scale, HistoryResize::rows,
            is_extra_state, transformer_engine_format_max, is_grouped_in_old_order},
};

}  // namespace

constinit const Dialect transformer_engine_state = delayed_scaling;
constinit const Dialect transformer_engine_grouped_state = delayed_scaling;

constinit const Trainer transformer_engine_trainer = {
    .name = "TransformerEngine",
    .resumes = transformer_engine_resumes,
};

}  // namespace tare
