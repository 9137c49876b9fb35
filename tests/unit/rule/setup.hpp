// A policy set up by role, so that one test can speak to all of them.
#pragma once

#include <string>

#include "kernels/rule/policy.hpp"
#include "tests/catch.hpp"

namespace tare::test {

inline std::string title(const rule::PolicySpec& spec) {
  std::string text(spec.name);
  if (!spec.variant.empty()) text.append("/").append(spec.variant);
  return text;
}

/// Sets the parameter where the policy has it; whole numbers stay ints, as a user writes them.
inline bool set(rule::Policy& policy, std::string_view key, double value) {
  const rule::ParameterSpec* parameter = rule::find_parameter(rule::spec_of(policy.id), key);
  if (parameter == nullptr) return false;
  const rule::Number number = value == static_cast<double>(static_cast<int64_t>(value))
                                  ? rule::integer_number(static_cast<int64_t>(value))
                                  : rule::real_number(value);
  INFO(title(rule::spec_of(policy.id)) << " " << key);
  REQUIRE(rule::write_parameter(policy.params, *parameter, number) == rule::Assigned::done);
  return true;
}

/// A policy with a short window; mindformers' list is that window alone, so that it never moves.
inline rule::Policy with_window(const rule::PolicySpec& spec, int64_t window) {
  rule::Policy policy = rule::make_policy(spec);
  set(policy, "growth_interval", static_cast<double>(window));
  if (const rule::ParameterSpec* list = rule::find_parameter(spec, "window_list")) {
    const int64_t windows[] = {window};
    REQUIRE(rule::write_list(policy.params, *list, windows) == rule::Assigned::done);
  }
  rule::prepare(policy);
  return policy;
}

/// The field of that role as a double; nan where the policy has none.
inline double field(const rule::Policy& policy, const rule::RuleState& state, std::string_view role) {
  const rule::FieldSpec* spec = rule::find_field(rule::spec_of(policy.id), role);
  return spec == nullptr ? __builtin_nan("") : rule::value_of(spec->read(state));
}

}  // namespace tare::test
