#include "lib/scaler/live.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/state/policy_state.hpp"
#include "lib/state/policy_value.hpp"

namespace tare {
namespace {

/// A number without a byte of zeros in any of the types.
rule::Number number_without_zeros(rule::ValueType type) {
  switch (type) {
    case rule::ValueType::real32:
      return rule::real_number(-1.1f);
    case rule::ValueType::real64:
      return rule::real_number(-1.1);
    case rule::ValueType::integer32:
      return rule::integer_number(0x01010101);
    case rule::ValueType::integer64:
      return rule::integer_number(0x0101010101010101);
    case rule::ValueType::boolean:
      return rule::boolean_number(true);
    case rule::ValueType::number:
    case rule::ValueType::word:
    case rule::ValueType::integers:
      break;
  }
  return {};
}

/// Where in a RuleState a field lies. The tables know a field by how it is written: it lies where that leaves a byte.
std::size_t offset_of(const rule::FieldSpec& field) {
  rule::RuleState state;
  static_assert(std::is_trivially_copyable_v<rule::RuleState>);
  std::memset(static_cast<void*>(&state), 0, sizeof state);
  field.write(state, number_without_zeros(field.type));
  const auto* bytes = reinterpret_cast<const unsigned char*>(&state);
  std::size_t offset = 0;
  while (offset < sizeof state && bytes[offset] == 0) ++offset;
  return offset;
}

std::string names_of(const rule::PolicySpec& spec) {
  std::string names = "inverse_scale";
  for (const rule::FieldSpec& field : spec.fields) names += ", " + std::string(field.name);
  return names;
}

}  // namespace

LiveField live_field(LossScaler& scaler, std::string_view key) {
  kernels::ScalerCore& core = scaler.memory();
  if (key == "inverse_scale") return {&core.shown.inverse_scale, rule::ValueType::real32};
  const rule::PolicySpec& spec = rule::spec_of(scaler.policy());
  const rule::FieldSpec* field = field_for(spec, key);
  if (field == nullptr) {
    throw Error(Status::not_found, fmt::format("policy \"{}\" has no field \"{}\"", spec.name, key), names_of(spec));
  }
  const std::size_t offset = offset_of(*field);
  if (offset == sizeof(rule::RuleState)) {
    throw Error(Status::unsupported, fmt::format("field \"{}\" is kept as no plain number", key),
                "tare_scaler_number reads it, tare_scaler_set_number writes it.");
  }
  return {reinterpret_cast<std::byte*>(&core.running.state) + offset, field->type};
}

StateValue live_value(const LossScaler& scaler, std::string_view key, kernels::Stream stream) {
  return get(scaler.save(stream), key);
}

void put_live_value(LossScaler& scaler, std::string_view key, const StateValue& value, kernels::Stream stream) {
  const kernels::ScalerCore before = scaler.snapshot(stream);
  ScalerState state = to_state(before.running);
  set(state, key, value);
  scaler.load(state, stream);
  if (before.checked != 0) scaler.report_overflow(before.shown.found_inf != 0, stream);
}

void update(LossScaler& scaler, UpdateOutcome& outcome, kernels::Stream stream) {
  const kernels::ScalerCore before = scaler.snapshot(stream);
  const auto note = [&] {
    const kernels::ScalerCore after = scaler.snapshot(stream);
    const auto scale_of = [](const kernels::ScalerCore& core) {
      return rule::scale_of(core.running.policy.id, core.running.state);
    };
    outcome = {scale_of(before), scale_of(after), before.shown.found_inf != 0,
               after.running.counters.skipped != before.running.counters.skipped};
  };
  try {
    scaler.update(stream);
  } catch (const Error& error) {
    if (error.status == Status::rule_raised) note();
    throw;
  }
  note();
}

void require_settable(const rule::Policy& policy, double scale) {
  const auto outcome = rule::with_scale(policy, rule::initial_state(policy), scale);
  if (outcome.raised != rule::Raised::nothing) raise(policy, outcome.raised);
  if (rule::scale_of(policy.id, outcome.state) > 0) return;
  throw Error(
      Status::invalid_argument,
      fmt::format("the scale {} {}", float_text(scale), scale > 0 ? "becomes 0 where it is kept" : "is not above 0"),
      "No gradient would survive it.");
}

}  // namespace tare
