// Paddle's static graphs: three variables of the program, among all its others, with a number behind each name that
// tells several optimizers apart. Source: python/paddle/static/amp/decorator.py.
#include "lib/dialect/frameworks/paddle_static.hpp"

#include <array>
#include <charconv>
#include <map>
#include <vector>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

struct PaddleVariable {
  std::string_view stem;
  Role role;
};

constexpr auto variables_of_paddle = std::to_array<PaddleVariable>({
    {"loss_scaling_", Role::scale},
    {"num_good_steps_", Role::growth_tracker},
    {"num_bad_steps_", Role::overflow_tracker},
});

constexpr auto paddle_static_settings = std::to_array<Setting>({
    {Role::growth_interval, "A program takes its window from static.amp.decorate(incr_every_n_steps=...)."},
    {Role::growth_factor, "A program takes it from static.amp.decorate(incr_ratio=...)."},
    {Role::backoff_factor, "A program takes it from static.amp.decorate(decr_ratio=...)."},
    {Role::hysteresis, "A program takes it from static.amp.decorate(decr_every_n_nan_or_inf=...)."},
    {Role::hysteresis_tracker, "Paddle counts up instead: edit overflow_tracker (num_bad_steps)."},
    {Role::min_scale, "A static graph's scale never falls below 1: the bound is fixed in Paddle's code."},
    {Role::max_scale, "A static graph's scale has no upper bound, but is kept where growth would be infinite."},
    {Role::initial_scale,
     "A program takes it from static.amp.decorate(init_loss_scaling=...); a loaded one replaces it."},
    {Role::dynamic, "A program is dynamic by static.amp.decorate(use_dynamic_loss_scaling=...)."},
});

/// Scalers by their variables' number.
Matches find_in_paddle_static(const Tree& tree, NodeId map, NodeId) {
  std::map<unsigned, Match> by_number;
  const auto pairs = tree.items(map);
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (tree.kind(pairs[i]) != Kind::string) continue;
    const std::string_view name = tree.text(pairs[i]);
    const auto variable = static_variable(name);
    if (variable) by_number[variable->number].parts.push_back({std::string(name), pairs[i + 1], variable->role});
  }
  Matches matches;
  for (auto& [number, match] : by_number) {
    if (match.parts.size() == variables_of_paddle.size()) matches.push_back(std::move(match));
  }
  return matches;
}

constexpr auto paddle_static_policies = std::to_array<PolicyUse>({
    {"", "paddle_static"},
});
constexpr auto paddle_static_each_flag = std::to_array<Flag>({
    {Role::growth_interval, "incr_every_n_steps="},
    {Role::growth_factor, "incr_ratio="},
    {Role::backoff_factor, "decr_ratio="},
    {Role::hysteresis, "decr_every_n_nan_or_inf="},
});
constexpr Flags paddle_static_flags{"static.amp.decorate(..., ", ", ", ")", paddle_static_each_flag};
constexpr auto paddle_static_places = std::to_array<KeptAt>({
    {"*", "loss_scaling_*", "", "paddle.static.io.save_vars"},
});
constexpr auto paddle_static_template_fields = std::to_array<TemplateField>({
    {"loss_scaling_0", "numpy:float32[1]", "loss_scaling"},
    {"num_good_steps_0", "numpy:int32[1]", "num_good_steps"},
    {"num_bad_steps_0", "numpy:int32[1]", "num_bad_steps"},
});
constexpr auto paddle_static_templates = std::to_array<StateTemplate>({
    {.name = "paddle_static",
     .dialect = &paddle_static_variables,
     .policy = "paddle_static",
     .endings = ".pdparams .pdopt",
     .format = "pickle",
     .fields = paddle_static_template_fields},
});

}  // namespace

std::optional<StaticVariable> static_variable(std::string_view name) {
  for (const PaddleVariable& variable : variables_of_paddle) {
    if (!name.starts_with(variable.stem)) continue;
    const std::string_view digits = name.substr(variable.stem.size());
    unsigned number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (digits == std::to_string(number)) return StaticVariable{variable.role, number};
  }
  return std::nullopt;
}

std::vector<std::string> static_variables(unsigned number) {
  std::vector<std::string> names;
  names.reserve(variables_of_paddle.size());
  for (const PaddleVariable& variable : variables_of_paddle)
    names.push_back(std::string(variable.stem) + std::to_string(number));
  return names;
}

constinit const Dialect paddle_static_variables = {
    .name = "paddle_static",
    .framework = "Paddle's static AMP",
    .form = Form::part,
    .find_in = find_in_paddle_static,
    .telling_word = "loss_scaling",
    .growth = Growth::when_equal,
    .settings = paddle_static_settings,
    .policies = paddle_static_policies,
    .flags = paddle_static_flags,
    .places = paddle_static_places,
    .templates = paddle_static_templates,
};

}  // namespace tare
