#include "lib/state/conversion_source.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"
#include "lib/base/no_rule.hpp"
#include "lib/base/text.hpp"
#include "lib/state/policy_state.hpp"
#include "lib/state/policy_value.hpp"
#include "lib/state/window_level.hpp"

namespace tare {
namespace {

std::string text_of(const StateValue& value) {
  return number_text(value).value_or(std::string(words_for(kind_of(value))));
}

}  // namespace

ConversionSource::ConversionSource(const ScalerState& state, const rule::PolicySpec& target_policy,
                                   const ConversionTarget& target)
    : stored_(state), target_policy_(target_policy) {
  normalise(stored_);
  policy_ = policy_of(stored_);
  if (policy_ == nullptr) start_from(stored_);  // throws, and says why
  for (const rule::PolicySpec* one : {policy_, &target_policy_}) {
    if (one->driver != rule::Driver::statistics) continue;
    throw NoRule(fmt::format("policy \"{}\" follows statistics of gradients, not overflows", one->name),
                 "no other policy's state says the same");
  }
  give(target.given);
  take_existing(target.existing);
  running_ = start_from(stored_);
  give_levels(running_, given_parameters_);
  require_level(running_);
  all_ = to_state(running_);
}

/// The user's values for what the policy knows and the state does not hold.
void ConversionSource::give(const StateSection& given) {
  for (const auto& [key, value] : given) {
    const auto* field = field_for(*policy_, key);
    const auto* parameter = field == nullptr ? parameter_for(*policy_, key) : nullptr;
    if (field == nullptr && parameter == nullptr) continue;
    const std::string name(field != nullptr ? field->name : parameter->name);
    StateSection& section = field != nullptr ? stored_.fields : stored_.params;
    if (parameter != nullptr) given_parameters_.push_back(parameter->name);
    if (parameter != nullptr && makes_list(*policy_, name)) section.erase(name);  // another list is asked for
    if (const StateValue* own = section.find(name)) {
      throw Error(Status::refused, fmt::format("{}: the source holds it already ({})", key, text_of(*own)),
                  "edit the target afterwards to change it");
    }
    section.set(name, field != nullptr ? converted(*field, value, key) : converted(*parameter, value, key));
    taken_.insert(key);
    given_.insert(name);
  }
}

/// What the state does not store is taken to be as in the scaler that takes over: so do both count alike.
void ConversionSource::take_existing(const StateSection& existing) {
  const bool is_other = policy_ != &target_policy_;
  for (const auto& parameter : policy_->parameters) {
    if ((is_other && parameter.role.empty()) || stored_.params.find(parameter.name) != nullptr) continue;
    const auto* own = rule::find_parameter(target_policy_, is_other ? parameter.role : parameter.name);
    const bool is_alike = own != nullptr && (!is_other || own->role == parameter.role);
    const StateValue* value = is_alike ? existing.find(own->name) : nullptr;
    if (value == nullptr || std::holds_alternative<std::monostate>(*value)) continue;
    stored_.params.set(parameter.name, converted(parameter, *value, parameter.name));
    kept_.emplace(parameter.name);
  }
}

std::optional<SourceValue> ConversionSource::at(const std::string& section, std::string_view name) const {
  const bool is_field = section == "fields";
  const StateValue* value = (is_field ? all_.fields : all_.params).find(name);
  if (value == nullptr) return std::nullopt;
  const bool is_stored = (is_field ? stored_.fields : stored_.params).find(name) != nullptr;
  const Outcome outcome = given_.contains(name)  ? Outcome::given
                          : kept_.contains(name) ? Outcome::kept
                          : is_stored            ? Outcome::carried
                                                 : Outcome::assumed;
  return SourceValue{section + "." + std::string(name), *value, outcome};
}

std::optional<SourceValue> ConversionSource::value(std::string_view role) const {
  for (const auto& field : policy_->fields) {
    if (field.role != role) continue;
    if (auto found = at("fields", field.name)) return found;
  }
  for (const auto& parameter : policy_->parameters) {
    if (parameter.role == role) return at("params", parameter.name);
  }
  return std::nullopt;
}

std::optional<SourceValue> ConversionSource::value_for(const rule::ParameterSpec& parameter) const {
  if (policy_ == &target_policy_) return at("params", parameter.name);
  return parameter.role.empty() ? std::nullopt : value(parameter.role);
}

}  // namespace tare
