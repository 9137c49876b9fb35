#include "lib/scaler/fp8_config.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"
#include "lib/codec/json.hpp"
#include "lib/codec/json_text.hpp"
#include "lib/scaler/config_values.hpp"
#include "lib/state/fp8_history.hpp"

namespace tare {
namespace {

void take(Fp8Set& set, const std::string& key, const StateValue& value) {
  if (key == "policy" || key == "device" || key == "threads" || key == fp8_slots_key || lists_scales(set, key, value))
    return;
  if (assign(set, key, value)) return;
  refuse_config(fmt::format("policy \"{}\" has no \"{}\"", set.policy->name, key),
                fmt::format("Allowed: policy, device, threads, slots, format, {}", parameter_names(*set.policy)));
}

/// A length that is out of range is the configuration's fault.
Fp8Set resized(const Fp8Set& set, const std::string& key, const StateValue& length) {
  try {
    return with_history_length(set, key, length);
  } catch (const Error& error) {
    if (error.status != Status::mismatch) throw;
    refuse_config(error.what(), error.hint);
  }
}

}  // namespace

Fp8Config parse_fp8_config(const char* json) {
  const StateSection config = members_of_json(json, "the configuration");
  const std::string name = text_in_config(config, "policy");
  if (name.empty()) refuse_config("no \"policy\"", "For example {\"policy\":\"transformer_engine\",\"slots\":3}.");
  const Fp8PolicySpec& spec = require_fp8_policy(name);
  Fp8Config parsed{without_slots(spec), cuda_device_in_config(config), thread_count(config.find("threads"))};
  try {
    const StateValue* slots = config.find(fp8_slots_key);
    assign(parsed.start, fp8_slots_key, slots == nullptr ? StateValue(std::int64_t{1}) : *slots);
    for (const auto& [key, value] : config) take(parsed.start, key, value);
    start_fresh(parsed.start);
    for (const auto& [key, value] : config) {
      if (lists_scales(parsed.start, key, value)) start_scales(parsed.start, key, value);
    }
  } catch (const Error& error) {
    if (error.status != Status::mismatch) throw;
    refuse_config(error.what(), fmt::format("Keys of policy \"{}\": slots, format, {}", name, parameter_names(spec)));
  }
  return parsed;
}

Fp8Config parse_fp8_config(const char* json, const ScalerState& state) {
  Fp8Config parsed{start_fp8_from(state)};
  if (json == nullptr || *json == '\0') return parsed;
  const StateSection config = members_of_json(json, "the configuration");
  for (const auto& [key, value] : config) {
    if (is_history_length(parsed.start, key)) {
      parsed.start = resized(parsed.start, key, value);
      continue;
    }
    if (key == "device" || key == "threads" || (key == "policy" && text_in_config(config, "policy") == state.policy))
      continue;
    refuse_config(fmt::format("\"{}\" is the state's", key), "Change the state, or leave it out.");
  }
  parsed.cuda_device = cuda_device_in_config(config);
  parsed.threads = thread_count(config.find("threads"));
  return parsed;
}

std::string fp8_policies_json() {
  json::Array policies;
  for (const Fp8PolicySpec& spec : fp8_policies()) {
    const ScalerState fresh = to_state(without_slots(spec));
    json::Array parameters;
    for (const Fp8ParameterSpec& parameter : spec.parameters) {
      json::Members members;
      members.add("name", parameter.name);
      members.add("role", parameter.role.empty() ? json::Json() : json::Json(parameter.role));
      members.add("default",
                  json::parse(value_to_json(*fresh.params.find(parameter.name)), "a default", Status::internal));
      members.add("range", range_text(parameter));
      members.add("meaning", parameter.meaning);
      parameters.emplace_back(members.take());
    }
    json::Array fields;
    for (const Fp8FieldSpec& field : spec.fields) {
      json::Members members;
      members.add("name", field.name);
      members.add("role", field.role.empty() ? json::Json() : json::Json(field.role));
      fields.emplace_back(members.take());
    }
    json::Members members;
    members.add("policy", spec.name);
    members.add("framework", spec.framework);
    members.add("summary", spec.summary);
    members.add("parameters", std::move(parameters));
    members.add("fields", std::move(fields));
    policies.emplace_back(members.take());
  }
  json::Members members;
  members.add("schema", "tare.fp8_policies/1");
  members.add("policies", std::move(policies));
  return json::text_of(members.take());
}

}  // namespace tare
