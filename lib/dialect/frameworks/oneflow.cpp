// OneFlow's graphs: two variables of the graph, named by its job, among its model's parameters. Source:
// oneflow/core/job_rewriter/dynamic_loss_scale_schedule_pass.cpp, python/oneflow/framework/check_point_v2.py.
#include "lib/dialect/frameworks/oneflow.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr std::string_view oneflow_beginning = "System-Train-DynamicLossScale-";

struct OneflowVariable {
  std::string_view ending;
  Role role;
};

constexpr auto variables_of_oneflow = std::to_array<OneflowVariable>({
    {"-LossScale", Role::scale},
    {"-GoodStepCounter", Role::growth_tracker},
});

bool ends_as(const OneflowVariable& variable, std::string_view name) {
  return name.ends_with(variable.ending) && name.size() >= oneflow_beginning.size() + variable.ending.size();
}

/// A tensor of OneFlow's is an object with a NumPy array; a state that torch saved holds tensors.
NodeId elements_of(const Tree& tree, NodeId value) {
  const NodeId data = tree.find(tree.fields(value), "data");
  return data == nowhere ? value : data;
}

/// Scalers by their job's name.
Matches find_in_oneflow(const Tree& tree, NodeId map, NodeId) {
  std::map<std::string_view, Match> by_job;
  const auto pairs = tree.items(map);
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (tree.kind(pairs[i]) != Kind::string) continue;
    const std::string_view name = tree.text(pairs[i]);
    if (!name.starts_with(oneflow_beginning)) continue;
    for (const OneflowVariable& variable : variables_of_oneflow) {
      if (!ends_as(variable, name)) continue;
      const std::string_view job = name.substr(oneflow_beginning.size());
      Match& match = by_job[job.substr(0, job.size() - variable.ending.size())];
      match.parts.push_back({std::string(name), elements_of(tree, pairs[i + 1]), variable.role});
    }
  }
  Matches matches;
  for (auto& [job, match] : by_job) {
    if (match.parts.size() == variables_of_oneflow.size()) matches.push_back(std::move(match));
  }
  return matches;
}

constexpr auto oneflow_settings = std::to_array<Setting>({
    {Role::growth_interval, "OneFlow takes its window from amp.GradScaler(growth_interval=...), 2000 if not given."},
    {Role::growth_factor, "OneFlow takes it from amp.GradScaler(growth_factor=...), 2 if not given."},
    {Role::backoff_factor, "OneFlow divides by growth_factor: it takes no other backoff_factor than its inverse."},
    {Role::min_scale, "OneFlow never goes below 1: the bound is fixed in its code."},
    {Role::max_scale, "OneFlow never goes beyond the largest float32: the bound is fixed in its code."},
    {Role::initial_scale, "OneFlow takes it from amp.GradScaler(init_scale=...); a loaded variable replaces it."},
    {Role::dynamic, "OneFlow's scale is dynamic wherever it saves these variables."},
    {Role::hysteresis, "OneFlow has no hysteresis: every overflow backs off."},
    {Role::hysteresis_tracker, "OneFlow has no hysteresis: every overflow backs off."},
    {Role::overflow_tracker, "OneFlow counts no overflows: every one backs off."},
    {Role::step, "OneFlow counts only clean steps since the last change (growth_tracker)."},
});

constexpr auto oneflow_policies = std::to_array<PolicyUse>({
    {"", "oneflow"},
});
constexpr auto oneflow_each_flag = std::to_array<Flag>({
    {Role::growth_interval, "growth_interval="},
    {Role::growth_factor, "growth_factor="},
});
constexpr Flags oneflow_flags{"flow.amp.GradScaler(", ", ", ")", oneflow_each_flag};
constexpr auto oneflow_places = std::to_array<KeptAt>({
    {"*", "", "", "a graph of OneFlow's"},
});

}  // namespace

bool is_oneflow_variable(std::string_view name) {
  return name.starts_with(oneflow_beginning) &&
         std::ranges::any_of(variables_of_oneflow,
                             [&](const OneflowVariable& variable) { return ends_as(variable, name); });
}

constinit const Dialect oneflow_variables = {
    .name = "oneflow",
    .framework = "OneFlow's dynamic loss scale",
    .form = Form::part,
    .find_in = find_in_oneflow,
    .telling_word = "LossScale",
    .growth = Growth::when_at_least,
    .settings = oneflow_settings,
    .policies = oneflow_policies,
    .flags = oneflow_flags,
    .places = oneflow_places,
    .never_alone = "OneFlow keeps its loss scale among a graph's variables, under its job's name",
};

}  // namespace tare
