// Keras 3's LossScaleOptimizer. Its weights have no names, only places in `optimizer/vars`: 0 iteration, 1 learning
// rate, 2 step_counter, 3 dynamic_scale, then the inner optimizer's, which stand in `inner_optimizer/vars` again.
// Legacy
// `.h5` files name them. Source: keras/src/optimizers/loss_scale_optimizer.py and keras/src/saving/saving_lib.py.
//
// And the FP8 state of its dense layers: six weights behind the kernel and the bias, if there is one. Source:
// keras/src/layers/core/dense.py, _float8_build.
#include <array>

#include "lib/dialect/frameworks/flax.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr std::string_view variables_key = "vars";
/// A map with more is no optimizer or layer of Keras.
constexpr std::size_t most_variables = 64;

/// The list of variables of an optimizer or layer; nowhere where `map` is neither.
NodeId variables_of(const Tree& tree, NodeId map) {
  return tree.items(map).size() > 2 * most_variables ? nowhere : tree.find(map, variables_key);
}

constexpr auto legacy_fields = std::to_array<FieldRule>({
    {"dynamic_scale", Role::scale, true},
    {"step_counter", Role::growth_tracker, true},
});

constexpr auto keras_settings = std::to_array<Setting>({
    {Role::growth_interval, "Keras takes it from LossScaleOptimizer(dynamic_growth_steps=...), 2000 by default."},
    {Role::initial_scale, "Keras takes it from LossScaleOptimizer(initial_scale=...); a loaded scale replaces it."},
    {Role::growth_factor, "Keras always grows by 2: the factor is fixed in its code."},
    {Role::backoff_factor, "Keras always halves: the factor is fixed in its code."},
    {Role::hysteresis, "Keras has none: every overflow backs off."},
    {Role::hysteresis_tracker, "Keras has none: every overflow backs off."},
    {Role::min_scale, "Keras has no lower bound: the scale can fall to 0."},
    {Role::max_scale, "Keras has no upper bound."},
    {Role::dynamic, "Keras's LossScaleOptimizer is always dynamic."},
});

/// A variable as its place in the list tells.
struct KerasVariable {
  std::string_view name;
  std::optional<Role> role;
  std::string_view type_prefix;
  bool is_scalar;
};

bool fits(const KerasVariable& variable, const Tree& tree, NodeId node) {
  if (node == nowhere || tree.kind(node) != Kind::tensor) return false;
  const Tensor tensor = tree.tensor(node);
  return tensor.type.name.starts_with(variable.type_prefix) && tensor.shape.size() == (variable.is_scalar ? 0 : 1);
}

/// The variables from place `first` on, if all of them are what they should be.
template <std::size_t Count>
Matches variables_at(const Tree& tree, NodeId variables, std::size_t first,
                     const std::array<KerasVariable, Count>& wanted) {
  Match match;
  match.path = variables_key;
  for (std::size_t i = 0; i < Count; ++i) {
    const NodeId node = tree.find(variables, std::to_string(first + i));
    if (!fits(wanted[i], tree, node)) return {};
    match.parts.push_back({std::string(wanted[i].name), node, wanted[i].role});
  }
  return {match};
}

constexpr auto scaler_variables = std::to_array<KerasVariable>({
    {"step_counter", Role::growth_tracker, "int", true},
    {"dynamic_scale", Role::scale, "float32", true},
});

Matches find_optimizer(const Tree& tree, NodeId map, NodeId) {
  constexpr std::size_t own_variables = 2;  // of every optimizer: iteration, learning rate
  const NodeId variables = variables_of(tree, map);
  if (variables == nowhere || tree.find(map, "inner_optimizer") == nowhere) return {};
  return variables_at(tree, variables, own_variables, scaler_variables);
}

constexpr auto fp8_variables = std::to_array<KerasVariable>({
    {"inputs_scale", {}, "float32", true},
    {"inputs_amax_history", {}, "float32", false},
    {"kernel_scale", {}, "float32", true},
    {"kernel_amax_history", {}, "float32", false},
    {"outputs_grad_scale", {}, "float32", true},
    {"outputs_grad_amax_history", {}, "float32", false},
});

/// A layer's own weights are its kernel and perhaps a bias; an optimizer's first variable is a count.
Matches find_float8(const Tree& tree, NodeId map, NodeId) {
  const NodeId variables = variables_of(tree, map);
  const NodeId kernel = variables == nowhere ? nowhere : tree.find(variables, "0");
  if (kernel == nowhere || tree.kind(kernel) != Kind::tensor || tree.tensor(kernel).shape.empty()) return {};
  for (const std::size_t first : {std::size_t{1}, std::size_t{2}}) {
    auto found = variables_at(tree, variables, first, fp8_variables);
    if (!found.empty()) return found;
  }
  return {};
}

constexpr auto keras_policies = std::to_array<PolicyUse>({
    {"", "keras"},
});
constexpr auto keras_each_flag = std::to_array<Flag>({
    {Role::growth_interval, "dynamic_growth_steps="},
});
constexpr Flags keras_flags{"LossScaleOptimizer(..., ", ", ", ")", keras_each_flag};
// Sources: keras/src/saving/saving_lib.py and legacy/saving/legacy_h5_format.py.
constexpr auto keras_beside =
    std::to_array<std::string_view>({"compile_config.optimizer.config", "optimizer_config.config"});
constexpr auto keras_configuration_keys = std::to_array<ConfigurationKey>({
    {"initial_scale", "initial_scale"},
    {"dynamic_growth_steps", "growth_interval"},
});
constexpr ConfigurationPlaces keras_configuration{.beside = keras_beside, .keys = keras_configuration_keys};
constexpr std::string_view keras_never_alone =
    "Keras saves a scaler with the whole optimizer, and loads neither if their variables do not match";

constexpr auto keras_fp8_rules = std::to_array<Fp8Rule>({
    {"input", "inputs_scale", {}, "inputs_amax_history", {}, fp8_largest_e4m3},
    {"weight", "kernel_scale", {}, "kernel_amax_history", {}, fp8_largest_e4m3},
    {"grad_output", "outputs_grad_scale", {}, "outputs_grad_amax_history", {}, fp8_largest_e5m2},
});
constexpr Fp8Convention keras_fp8_conventions[] = {
    {AgeOrder::first_wraps, ScaleMeaning::divisor, ScaleUse::recomputed, keras_fp8_rules},
};

}  // namespace

constinit const Dialect keras_variables = {
    .name = "keras",
    .framework = "Keras's LossScaleOptimizer",
    .form = Form::map,
    .find_in = find_optimizer,
    .telling_word = "inner_optimizer",
    .growth = Growth::when_equal,
    .settings = keras_settings,
    .policies = keras_policies,
    .flags = keras_flags,
    .configuration = &keras_configuration,
    .never_alone = keras_never_alone,
};

constinit const Dialect keras_legacy = {
    .name = "keras",
    .framework = "Keras's LossScaleOptimizer",
    .form = Form::part,
    .fields = legacy_fields,
    .growth = Growth::when_equal,
    .settings = keras_settings,
    .policies = keras_policies,
    .flags = keras_flags,
    .configuration = &keras_configuration,
};

constinit const Dialect keras_float8 = {
    .name = "keras",
    .kind = "fp8",
    .framework = "Keras's float8 layers",
    .form = Form::map,
    .find_in = find_float8,
    .telling_word = variables_key,
    .configuration = &keras_configuration,
    .fp8 = {keras_fp8_conventions, "keras_fp8", flax_next_scale},
};

}  // namespace tare
