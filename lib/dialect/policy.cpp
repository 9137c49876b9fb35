#include "lib/dialect/policy.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/dialect/own_state.hpp"
#include "lib/dialect/state_value.hpp"
#include "lib/state/policy_value.hpp"

namespace tare {
namespace {

/// A dialect whose state has `having`, as a field or beside its fields (empty: any), runs under that policy and
/// variant. The first row that fits counts.
struct Row {
  std::string_view dialect;
  std::string_view having;
  std::string_view policy;
  std::string_view variant;
};

constexpr Row rows[] = {
    {"torch", "", "torch", ""},
    {"nemo", "", "nemo", ""},
    {"apex", "dynamic_loss_scale", "apex_contrib", ""},
    {"apex", "cur_scale", "apex_fp16_utils", ""},
    {"apex", "", "apex", ""},
    {"megatron", "", "megatron", ""},
    {"deepspeed", "cur_hysteresis", "deepspeed", "zero"},
    {"deepspeed", "fp32_groups", "deepspeed", "unfused"},
    {"deepspeed", "dynamic_loss_scale", "deepspeed", "fused"},
    {"deepspeed", "cur_iter", "deepspeed", "zero"},
    {"deepspeed", "", "deepspeed", "static"},
    {"fairseq", "", "fairseq", ""},
    {"colossalai", "", "colossalai", ""},
    {"mindspore", "current_iterator_step", "mindspore", "dynamic"},
    {"mindspore", "loss_scaling_manager.cur_iter", "mindspore", "dynamic"},
    {"mindspore", "", "mindspore", "fixed"},
    {"mindspore_amp", "", "mindspore_amp", ""},
    {"mindformers_adaptive", "", "mindformers_adaptive", ""},
    {"paddle", "", "paddle", ""},
    {"paddle_static", "", "paddle_static", ""},
    {"keras", "", "keras", ""},
    {"tf_keras", "", "tf_keras", ""},
    {"flax", "", "flax", ""},
    {"jmp", "counter", "jmp", ""},
    {"jmp", "", "constant", ""},
};

/// States that are shown and edited, and that no rule goes on with.
struct Unrunnable {
  std::string_view dialect;
  std::string_view why;
  std::string_view instead;
};

constexpr Unrunnable unrunnable[] = {
    {"tf_contrib",
     "tf.contrib's loss scale managers went with TensorFlow 1, whose steps can no longer be run to hold a rule against",
     "carry the scale by hand: tare edit CHECKPOINT scale=..."},
    {"mindformers_common",
     "it is a scale alone, without the counters and the window that its update cell starts anew at every resume",
     "carry the scale by hand: tare edit CHECKPOINT scale=..."},
};

bool has(const FoundScaler& scaler, std::string_view name) {
  return scaler.find(name) != nullptr || std::ranges::find(scaler.beside, name) != scaler.beside.end();
}

const Row& row_of(const FoundScaler& scaler) {
  const std::string_view dialect = scaler.dialect->name;
  for (const Row& row : rows) {
    if (row.dialect == dialect && (row.having.empty() || has(scaler, row.having))) return row;
  }
  for (const Unrunnable& one : unrunnable) {
    if (one.dialect != dialect) continue;
    throw Error(Status::unsupported, fmt::format("no policy runs a state of dialect \"{}\": {}", dialect, one.why),
                std::string(one.instead));
  }
  throw Error(Status::unsupported, fmt::format("no policy runs a state of dialect \"{}\"", dialect),
              "tare_policies lists those that run");
}

/// Whether the policy calls something by that very name.
bool put_by_name(ScalerState& state, const rule::PolicySpec& spec, std::string_view name, const StateValue& value) {
  for (const rule::FieldSpec& field : spec.fields) {
    if (field.name != name && field.stored != name) continue;
    state.fields.set(field.name, value);
    return true;
  }
  for (const rule::ParameterSpec& parameter : spec.parameters) {
    if (parameter.name != name) continue;
    state.params.set(parameter.name, value);
    return true;
  }
  return false;
}

/// A role tells where a value goes whatever it is called; a value that stands there by name stays.
bool put_by_role(ScalerState& state, const rule::PolicySpec& spec, std::string_view role, const StateValue& value) {
  if (const auto* field = rule::find_field(spec, role); field != nullptr && field->role == role) {
    if (state.fields.find(field->name) == nullptr) state.fields.set(field->name, value);
    return true;
  }
  const auto* parameter = rule::find_parameter(spec, role);
  if (parameter == nullptr || parameter->role != role) return false;
  if (state.params.find(parameter->name) == nullptr) state.params.set(parameter->name, value);
  return true;
}

/// What the state says of itself comes first; a number that its framework could not use is left out.
void put_configured(ScalerState& state, const rule::PolicySpec& spec, const ConfiguredValue& configured) {
  const rule::ParameterSpec* parameter = parameter_for(spec, configured.key);
  if (parameter == nullptr || state.params.find(parameter->name) != nullptr) return;
  try {
    state.params.set(parameter->name, converted(*parameter, state_value(configured.value), configured.from));
  } catch (const Error& error) {
    if (error.status != Status::mismatch) throw;
  }
}

}  // namespace

ScalerState to_state(const FoundScaler& scaler) {
  if (is_own(scaler)) return own_state(scaler);
  const Row& row = row_of(scaler);
  const rule::PolicySpec& spec = require_policy(row.policy, row.variant);
  ScalerState state;
  state.policy = spec.name;
  if (!spec.variant_key.empty()) state.params.set(spec.variant_key, std::string(spec.variant));
  std::vector<const Field*> left;
  for (const Field& field : scaler.fields) {
    const StateValue value = state_value(field.value);
    const bool is_null = std::holds_alternative<std::monostate>(value);
    if (is_null || !put_by_name(state, spec, field.name, value)) left.push_back(&field);
  }
  for (const Field* field : left) {
    const StateValue value = state_value(field->value);
    const bool has_role = field->role.has_value() && !std::holds_alternative<std::monostate>(value);
    if (has_role && put_by_role(state, spec, name(*field->role), value)) continue;
    state.other.set(field->name, value);
  }
  for (const ConfiguredValue& configured : scaler.configuration) put_configured(state, spec, configured);
  normalise(state);
  return state;
}

}  // namespace tare
