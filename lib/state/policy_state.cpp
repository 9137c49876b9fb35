#include "lib/state/policy_state.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/nearest.hpp"
#include "lib/state/policy_value.hpp"
#include "lib/state/role.hpp"
#include "lib/state/window_level.hpp"

namespace tare {
namespace {

struct CounterName {
  std::string_view name;
  std::int64_t rule::Counters::*counter;
};

constexpr CounterName counter_names[] = {{"steps", &rule::Counters::steps},
                                         {"skipped", &rule::Counters::skipped},
                                         {"growths", &rule::Counters::growths},
                                         {"backoffs", &rule::Counters::backoffs}};

bool is_present(const rule::FieldSpec& field, const rule::RuleParams& params) {
  return field.present == nullptr || field.present(params);
}

/// Names that did not fit, by how they did not.
struct Misfits {
  std::vector<std::string> missing, extra, bad;

  void collect(const Error& error) { bad.emplace_back(error.what()); }

  [[nodiscard]] std::string text() const {
    std::string all;
    const auto add = [&](std::string_view title, const std::vector<std::string>& names) {
      if (names.empty()) return;
      all += (all.empty() ? "" : "; ") + std::string(title) + ": ";
      for (std::size_t i = 0; i < names.size(); ++i) all += (i == 0 ? "" : ", ") + names[i];
    };
    add("missing", missing);
    add("extra", extra);
    add("bad", bad);
    return all;
  }
};

void take_bound(double& into, const ScalerState& state, std::string_view name) {
  const StateValue* value = state.params.find(name);
  if (value != nullptr && !std::holds_alternative<std::monostate>(*value)) into = number_of(*value, name);
}

void take_params(RunningState& running, const rule::PolicySpec& spec, const ScalerState& state, Misfits& misfits) {
  for (const auto& [name, value] : state.params) {
    if (name == floor_key || name == ceiling_key || name == spec.variant_key) continue;
    const auto* parameter = rule::find_parameter(spec, name);
    if (parameter == nullptr) {
      misfits.extra.push_back("params." + name);
      continue;
    }
    try {
      assign(running.policy.params, *parameter, value, "params." + name);
    } catch (const Error& error) {
      misfits.collect(error);
    }
  }
  try {
    take_bound(running.policy.bounds.floor, state, floor_key);
    take_bound(running.policy.bounds.ceiling, state, ceiling_key);
  } catch (const Error& error) {
    misfits.collect(error);
  }
}

void take_fields(RunningState& running, const rule::PolicySpec& spec, const ScalerState& state, Misfits& misfits) {
  for (const auto& [name, value] : state.fields) {
    const auto* field = rule::find_field(spec, name);
    if (field == nullptr) {
      misfits.extra.push_back("fields." + name);
      continue;
    }
    try {
      assign(running.state, *field, value, "fields." + name);
    } catch (const Error& error) {
      misfits.collect(error);
    }
  }
  for (const rule::FieldSpec& field : spec.fields) {
    const bool wanted = is_present(field, running.policy.params);
    if (wanted && state.fields.find(field.name) == nullptr)
      misfits.missing.push_back("fields." + std::string(field.name));
  }
}

void take_counters(rule::Counters& counters, const ScalerState& state, Misfits& misfits) {
  for (const CounterName& known : counter_names) {
    const StateValue* value = state.statistics.find(known.name);
    if (value == nullptr) continue;
    try {
      counters.*known.counter = integer_of(*value, "statistics." + std::string(known.name));
    } catch (const Error& error) {
      misfits.collect(error);
    }
  }
}

/// A scaler of the state's parameters that has not stepped yet.
RunningState fresh(const rule::PolicySpec& spec, const ScalerState& state, Misfits& misfits) {
  RunningState running;
  running.policy = rule::make_policy(spec);
  take_params(running, spec, state, misfits);
  rule::prepare(running.policy);
  running.state = rule::initial_state(running.policy);
  return running;
}

/// Files keep what their own rule makes no use of, under names of their own: only what is nearly one of the rule's is a
/// fault. Every word of some rule is right, and what begins with an underscore is an attribute of somebody's object.
bool is_misspelt(std::string_view name, const rule::PolicySpec& spec) {
  const auto has_name = [&](const rule::PolicySpec& one) {
    return rule::find_field(one, name) != nullptr || rule::find_parameter(one, name) != nullptr;
  };
  if (name.starts_with('_') || parse_role(name).has_value() || std::ranges::any_of(rule::policies(), has_name))
    return false;
  std::vector<std::string> names;
  for (const rule::FieldSpec& field : spec.fields) {
    for (const std::string_view known : {field.name, field.stored, field.role}) names.emplace_back(known);
  }
  return !nearest(name, names).empty();
}

const rule::PolicySpec& known_policy(const ScalerState& state) {
  if (const rule::PolicySpec* spec = policy_of(state)) return *spec;
  throw Error(Status::unsupported, "policy \"" + state.policy + "\" is not one that this tare runs",
              "tare_policies lists those that it does.");
}

}  // namespace

ScalerState to_state(const RunningState& running) {
  const rule::PolicySpec& spec = rule::spec_of(running.policy.id);
  ScalerState state;
  state.policy = spec.name;
  if (!spec.variant_key.empty()) state.params.set(spec.variant_key, std::string(spec.variant));
  for (const auto& parameter : spec.parameters) {
    // Where no field holds the scale, a parameter does.
    const bool is_scale = parameter.role == name(Role::scale);
    state.params.set(parameter.name, is_scale ? StateValue(rule::scale_of(running.policy.id, running.state))
                                              : value_of(running.policy.params, parameter));
  }
  const rule::Bounds off;
  if (running.policy.bounds.floor != off.floor) state.params.set(floor_key, running.policy.bounds.floor);
  if (running.policy.bounds.ceiling != off.ceiling) state.params.set(ceiling_key, running.policy.bounds.ceiling);
  for (const auto& field : spec.fields) {
    if (is_present(field, running.policy.params)) state.fields.set(field.name, value_of(running.state, field));
  }
  for (const CounterName& known : counter_names) state.statistics.set(known.name, running.counters.*known.counter);
  return state;
}

RunningState start_from(const ScalerState& given) {
  ScalerState state = given;
  normalise(state);
  const rule::PolicySpec& spec = known_policy(state);
  Misfits misfits;
  RunningState running = fresh(spec, state, misfits);
  take_fields(running, spec, state, misfits);
  take_counters(running.counters, state, misfits);
  complete_level(running, state.fields);
  misfits.missing.clear();
  misfits.extra.clear();
  const std::string wrong = misfits.text();
  if (!wrong.empty())
    throw Error(Status::mismatch, "the state of policy \"" + state.policy + "\" does not fit: " + wrong);
  return running;
}

void require_known_names(const ScalerState& given) {
  ScalerState state = given;
  normalise(state);
  const rule::PolicySpec* spec = policy_of(state);
  if (spec == nullptr) return;
  Misfits misfits;
  fresh(*spec, state, misfits);
  for (const auto& [name, value] : state.fields) {
    if (is_misspelt(name, *spec)) misfits.extra.push_back("fields." + name);
  }
  misfits.bad.clear();
  if (misfits.extra.empty()) return;
  std::string known;
  for (const rule::FieldSpec& field : spec->fields) known += (known.empty() ? "" : ", ") + std::string(field.name);
  throw Error(Status::mismatch, "the state of policy \"" + full_name(*spec) + "\" does not fit: " + misfits.text(),
              "Its fields: " + known + "; its parameters: " + parameter_names(*spec));
}

ScalerState completed(const ScalerState& given) {
  ScalerState state = given;
  normalise(state);
  const rule::PolicySpec& spec = known_policy(state);
  Misfits misfits;  // parameters that do not fit are told by whoever runs the state
  const RunningState initial = fresh(spec, state, misfits);
  for (const auto& field : spec.fields) {
    const bool is_missing = is_present(field, initial.policy.params) && state.fields.find(field.name) == nullptr;
    if (is_missing) state.fields.set(field.name, value_of(initial.state, field));
  }
  return state;
}

void load_into(RunningState& running, const ScalerState& given) {
  ScalerState state = given;
  normalise(state);
  const rule::PolicySpec& mine = rule::spec_of(running.policy.id);
  const rule::PolicySpec& spec = known_policy(state);
  // Megatron's constant scaler saves {} and takes nothing of another one, and neither does a run without a scaler.
  const bool has_fields = !mine.fields.empty();
  if (&spec != &mine && spec.name == mine.name && !has_fields) return;
  if (&spec != &mine) {
    throw Error(
        Status::mismatch,
        "a state of policy \"" + full_name(spec) + "\" does not go into a scaler of policy \"" + full_name(mine) + "\"",
        "Create a scaler from the state instead (tare_scaler_create_from_state).");
  }
  Misfits misfits;
  RunningState loaded = running;
  if (has_fields) {
    take_params(loaded, spec, state, misfits);
    rule::prepare(loaded.policy);
    take_fields(loaded, spec, state, misfits);
  }
  take_counters(loaded.counters, state, misfits);
  const std::string wrong = misfits.text();
  if (!wrong.empty())
    throw Error(Status::mismatch, "the state of policy \"" + state.policy + "\" does not fit: " + wrong);
  require_level(loaded);
  running = loaded;
}

}  // namespace tare
