#include "lib/scaler/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/codec/json.hpp"
#include "lib/scaler/config_values.hpp"
#include "lib/scaler/megatron_arguments.hpp"
#include "lib/state/policy_value.hpp"
#include "lib/state/role.hpp"
#include "lib/state/window_level.hpp"

namespace tare {
namespace {

constexpr std::string_view own_keys = "policy, device, threads, underflow_threshold, finite_statistics";

std::string variant_in(const StateSection& config, const rule::PolicySpec& usual) {
  const std::string_view key = rule::variant_key_of(usual.name);
  const std::string named = key.empty() ? std::string() : text_in_config(config, key);
  const std::string variant = text_in_config(config, "variant");
  if (!named.empty() && !variant.empty() && named != variant) {
    refuse_config(fmt::format("{} is \"{}\" and variant \"{}\"", key, named, variant), "Keep one.");
  }
  return named.empty() ? variant : named;
}

/// `body`, with what it throws as a fault of the configuration.
template <class Body>
auto as_configuration(const rule::PolicySpec& spec, const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (error.status != Status::mismatch) throw;
    refuse_config(error.what(), fmt::format("Keys of policy \"{}\": {}", spec.name, parameter_names(spec)));
  }
}

double bound_of(const StateValue& value, const std::string& key) {
  const double bound = number_of(value, key);
  if (!std::isfinite(bound) || bound <= 0) refuse_config(fmt::format("{} is not a positive finite number", key));
  return bound;
}

bool has_same_fields(const rule::PolicySpec& a, const rule::PolicySpec& b) {
  return std::ranges::equal(a.fields, b.fields, {}, &rule::FieldSpec::name, &rule::FieldSpec::name);
}

/// The state under the variant that the configuration names, which is one that keeps the same fields: files tell only
/// some variants apart.
ScalerState in_variant_of(const StateSection& config, const ScalerState& given) {
  const rule::PolicySpec* own = policy_of(given);
  if (own == nullptr) return given;  // start_from refuses it
  const std::string name = text_in_config(config, "policy");
  const std::string variant = variant_in(config, *own);
  const bool is_other_policy = !name.empty() && name != own->name;
  const rule::PolicySpec& meant = is_other_policy || variant.empty() ? *own : require_policy(own->name, variant);
  if (is_other_policy || !has_same_fields(*own, meant)) {
    refuse_config(fmt::format("the state is of policy \"{}\"", full_name(*own)),
                  "Leave \"policy\" and the variant out, or translate the state first.");
  }
  ScalerState state = given;
  if (!meant.variant.empty()) state.params.set(meant.variant_key, std::string(meant.variant));
  return state;
}

class Parser {
 public:
  Parser(const StateSection& config, const rule::PolicySpec& spec, ScalerConfig& into)
      : config_(config), spec_(spec), into_(into) {}

  void parse() {
    for (const auto& [key, value] : config_) take(key, value);
    // A state's parameters are taken as they are, where the configuration says nothing of them.
    const std::string fault = given_.empty() ? std::string() : rule::find_fault(spec_, into_.start.policy.params);
    if (!fault.empty()) refuse_config(fault);
    const rule::Bounds& bounds = into_.start.policy.bounds;
    if (bounds.floor > bounds.ceiling) refuse_config("floor is above ceiling");
    const rule::Bounds off;
    const bool is_bounded = bounds.floor != off.floor || bounds.ceiling != off.ceiling;
    if (is_bounded && into_.start.policy.id == rule::PolicyId::megatron_none)
      refuse_config("without a scaler there is no scale to keep in bounds");
    if (bounds.floor == off.floor) return;
    const rule::Policy& policy = into_.start.policy;
    if (rule::with_scale(policy, rule::RuleState{}, bounds.floor).raised != rule::Raised::nothing) {
      refuse_config(fmt::format("floor {} is more than {} can hold", float_text(bounds.floor), full_name(spec_)));
    }
  }

  /// A state goes on under what is given: its window and the list of windows are one thing. The window that its run
  /// began with, given again, moves none that has adapted since.
  void go_on() {
    const rule::ParameterSpec* window = rule::find_parameter(spec_, name(Role::growth_interval));
    const auto value = [&] { return window == nullptr ? StateValue() : value_of(into_.start.policy.params, *window); };
    const StateValue before = value();
    parse();
    rule::prepare(into_.start.policy);
    if (window != nullptr && value() == before) std::erase(given_, window->name);
    give_levels(into_.start, given_);
  }

 private:
  void take(const std::string& key, const StateValue& value) {
    if (key == "policy" || key == "device" || key == "variant" || key == spec_.variant_key) return;
    rule::Bounds& bounds = into_.start.policy.bounds;
    if (key == "threads") {
      into_.threads = thread_count(&value);
    } else if (key == "underflow_threshold") {
      into_.underflow_threshold = bound_of(value, key);
    } else if (key == "finite_statistics") {
      const auto* given = std::get_if<bool>(&value);
      if (given == nullptr) refuse_config("finite_statistics is neither true nor false");
      into_.finite_statistics = *given;
    } else if (key == floor_key) {
      bounds.floor = bound_of(value, key);
    } else if (key == ceiling_key) {
      bounds.ceiling = bound_of(value, key);
    } else if (const auto* parameter = parameter_for(spec_, key)) {
      assign_once(*parameter, key, value);
    } else {
      refuse_config(fmt::format("policy \"{}\" has no \"{}\"", spec_.name, key),
                    fmt::format("Allowed: {}, {}", parameter_names(spec_), own_keys));
    }
  }

  void assign_once(const rule::ParameterSpec& parameter, const std::string& key, const StateValue& value) {
    for (const auto& [other, ignored] : config_) {
      if (other == key) break;
      if (parameter_for(spec_, other) == &parameter)
        refuse_config(fmt::format("{} and {} are the same parameter", other, key), "Keep one of the names.");
    }
    if (std::holds_alternative<bool>(value) && parameter.type != rule::ValueType::boolean)
      refuse_config(fmt::format("{} is true or false, allowed: {}", key, rule::range_text(parameter)));
    assign(into_.start.policy.params, parameter, value, key);
    given_.push_back(parameter.name);
  }

  const StateSection& config_;
  const rule::PolicySpec& spec_;
  ScalerConfig& into_;
  std::vector<std::string_view> given_;  ///< parameters
};

}  // namespace

ScalerConfig parse_config(const char* json) {
  const StateSection given = members_of_json(json, "the configuration");
  const std::string name = text_in_config(given, "policy");
  const StateSection config = without_megatron_arguments(given, name);
  if (name.empty()) refuse_config("no \"policy\"", "For example {\"policy\":\"torch\"}.");
  const rule::PolicySpec& spec = require_policy(name, variant_in(config, require_policy(name, {})));
  ScalerConfig parsed;
  parsed.cuda_device = cuda_device_in_config(config);
  parsed.start.policy = rule::make_policy(spec);
  as_configuration(spec, [&] { Parser(config, spec, parsed).parse(); });
  rule::prepare(parsed.start.policy);
  parsed.start.state = rule::bounded(parsed.start.policy, rule::initial_state(parsed.start.policy));
  if (rule::scale_of(parsed.start.policy.id, parsed.start.state) == 0) {
    refuse_config("the initial scale becomes 0 where it is kept", "float32 reaches down to 1.4e-45.");
  }
  return parsed;
}

ScalerConfig parse_config(const char* json, const ScalerState& state) {
  const bool has_config = json != nullptr && *json != '\0';
  const StateSection given = has_config ? members_of_json(json, "the configuration") : StateSection();
  const StateSection config = without_megatron_arguments(given, state.policy);
  ScalerConfig parsed;
  const ScalerState meant = in_variant_of(config, state);
  require_known_names(meant);
  parsed.start = start_from(meant);
  const rule::PolicySpec& spec = rule::spec_of(parsed.start.policy.id);
  parsed.cuda_device = cuda_device_in_config(config);
  as_configuration(spec, [&] { Parser(config, spec, parsed).go_on(); });
  require_level(parsed.start);
  return parsed;
}

}  // namespace tare
