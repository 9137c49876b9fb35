#include "lib/state/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/state/conversion_source.hpp"
#include "lib/state/phase.hpp"
#include "lib/state/policy_state.hpp"
#include "lib/state/policy_value.hpp"

namespace tare {
namespace {

using rule::RunningState;

constexpr auto fate_names = std::to_array<std::pair<Fate, std::string_view>>({
    {Fate::carried, "carried"},
    {Fate::converted, "converted"},
    {Fate::given, "given"},
    {Fate::assumed, "assumed"},
    {Fate::kept, "kept"},
    {Fate::defaulted, "defaulted"},
    {Fate::clamped, "clamped"},
    {Fate::lost, "lost"},
});

/// Counters that say how far the next growth or back-off is. They are set together, after everything else.
constexpr auto phase_roles = std::to_array<Role>(
    {Role::growth_tracker, Role::step, Role::last_overflow_step, Role::hysteresis_tracker, Role::overflow_tracker});

bool is_phase(std::optional<Role> role) {
  return role && std::find(phase_roles.begin(), phase_roles.end(), *role) != phase_roles.end();
}

bool same_number(const StateValue& a, const StateValue& b) {
  if (a == b) return true;
  const auto is_number = [](const StateValue& value) {
    return std::holds_alternative<double>(value) || std::holds_alternative<std::int64_t>(value) ||
           std::holds_alternative<bool>(value);
  };
  return is_number(a) && is_number(b) && number_of(a, {}) == number_of(b, {});
}

class Converter {
 public:
  Converter(const ScalerState& source, const ConversionTarget& target)
      : target_spec_(require_policy(target.policy, target.variant)),
        source_(source, target_spec_, target),
        given_(target.given),
        existing_(target.existing) {}

  Conversion run() {
    to_.policy = rule::make_policy(target_spec_);
    for (const auto& parameter : target_spec_.parameters) set_parameter(parameter);
    rule::prepare(to_.policy);
    adjust_interval();
    to_.state = rule::initial_state(to_.policy);
    for (const auto& field : target_spec_.fields) {
      if (is_present(field)) set_field(field);
    }
    set_phase();
    require_given_used();
    list_fields();
    list_lost();
    result_.divergence = first_divergence(source_.running(), to_);
    return std::move(result_);
  }

 private:
  // ---- parameters

  void set_parameter(const rule::ParameterSpec& parameter) {
    const std::string key = "params." + std::string(parameter.name);
    const auto put = [&](const StateValue& value) { assign(to_.policy.params, parameter, value, key); };
    if (const StateValue* value = given(parameter.name, parameter.role)) {
      put(*value);
      return note(Fate::given, key, {}, parameter.role, {}, "");
    }
    if (parameter.role == facts(Role::initial_scale).name) return;
    const auto stored = source_.value_for(parameter);
    const bool is_unset = stored && std::holds_alternative<std::monostate>(stored->value);
    if (stored && (!is_unset || parameter.unset == "null")) {
      put(stored->value);
      const Fate fate = stored->fate;
      const bool is_own = fate == Fate::carried || fate == Fate::given;
      return note(fate, key, stored->key, parameter.role, stored->value, is_own ? "" : assumption(fate));
    }
    if (is_unset) {
      return note(Fate::defaulted, key, stored->key, parameter.role, {},
                  fmt::format("the source has none; {}", default_of_target()));
    }
    if (const auto derived = behaviour_for(parameter.role)) {
      put(StateValue(*derived));
      return note(Fate::converted, key, {}, parameter.role, {}, fmt::format("as {} acts", source_.policy().framework));
    }
    if (const StateValue* existing = existing_.find(parameter.name)) {
      put(*existing);
      return note(Fate::kept, key, {}, parameter.role, {}, "the target's own");
    }
    note(Fate::defaulted, key, {}, parameter.role, {}, default_of_target());
  }

  /// What the source does where none of its values says so by that role's name.
  [[nodiscard]] std::optional<double> behaviour_for(std::string_view name) const {
    const auto role = parse_role(name);
    return role ? measured(*role, source_.running()) : std::nullopt;
  }

  /// flax grows one clean step later than its interval says: equal periods, not equal numbers, mean the same.
  void adjust_interval() {
    const auto* parameter = rule::find_parameter(target_spec_, name(Role::growth_interval));
    if (parameter == nullptr || parameter->role != name(Role::growth_interval)) return;
    RunningState fresh = to_;
    fresh.state = rule::initial_state(fresh.policy);
    const auto wanted = clean_steps_between_growths(source_.running());
    const auto period = clean_steps_between_growths(fresh);
    if (!wanted || !period || *wanted == *period) return;
    const std::int64_t interval = integer_of(value_of(to_.policy.params, *parameter), parameter->name);
    const std::int64_t adjusted = interval + *wanted - *period;
    const std::string key = "params." + std::string(parameter->name);
    if (adjusted < 0) return;
    assign(to_.policy.params, *parameter, StateValue(adjusted), key);
    rule::prepare(to_.policy);
    for (ConvertedValue& value : result_.values) {
      if (value.key != key) continue;
      value.fate = Fate::converted;
      value.why = fmt::format("{} {} {}: growths come every {} clean steps in both", interval,
                              adjusted > interval ? "+" : "-", std::abs(adjusted - interval), *wanted);
    }
  }

  // ---- fields

  void set_field(const rule::FieldSpec& field) {
    const std::string key = "fields." + std::string(field.name);
    if (const StateValue* value = given(field.name, field.role)) {
      assign(to_.state, field, *value, key);
      return note(Fate::given, key, {}, field.role, {}, "");
    }
    if (field.role == name(Role::scale)) return set_scale(field, key);
    if (is_same_rule()) {
      const auto own = source_.at("fields", field.name);
      if (!own) return;
      assign(to_.state, field, own->value, key);
      return note(own->fate, key, key, field.role, own->value, "");
    }
    if (is_phase(parse_role(field.role))) return;
    note(Fate::defaulted, key, {}, field.role, {}, "as in a fresh scaler");
  }

  /// A scale that does not move has no counters.
  [[nodiscard]] bool is_present(const rule::FieldSpec& field) const {
    return field.present == nullptr || field.present(to_.policy.params);
  }

  void set_scale(const rule::FieldSpec& field, const std::string& key) {
    const SourceValue scale = *source_.value(name(Role::scale));
    const double wanted = number_of(scale.value, scale.key);
    double value = wanted;
    std::string bound;
    const auto limit = [&](Role role, bool is_lower) {
      const auto* parameter = rule::find_parameter(target_spec_, name(role));
      if (parameter == nullptr || parameter->role != name(role)) return;
      const StateValue at = value_of(to_.policy.params, *parameter);
      if (std::holds_alternative<std::monostate>(at)) return;
      const double end = number_of(at, parameter->name);
      if (is_lower ? value >= end : value <= end) return;
      value = end;
      bound = fmt::format("{} is {}", parameter->name, float_text(end));
    };
    limit(Role::min_scale, true);
    limit(Role::max_scale, false);
    const bool is_whole = std::holds_alternative<std::int64_t>(scale.value) && bound.empty();
    assign(to_.state, field, is_whole ? scale.value : StateValue(value), key);
    const double held = number_of(value_of(to_.state, field), key);
    if (!bound.empty()) return note(Fate::clamped, key, scale.key, field.role, scale.value, bound);
    if (held == wanted || (std::isnan(held) && std::isnan(wanted))) {
      return note(Fate::carried, key, scale.key, field.role, scale.value, "");
    }
    note(Fate::converted, key, scale.key, field.role, scale.value, "rounded to what the target's type holds");
  }

  // ---- counters

  void set_phase() {
    if (is_same_rule()) return;
    const Phase phase = transfer_phase(source_.running(), to_, [&](Role role) { return source_integer(role); });
    for (const std::string& warning : phase.warnings) result_.warnings.push_back(warning);
    for (const auto& field : target_spec_.fields) {
      const auto role = parse_role(field.role);
      if (!is_phase(role) || !is_present(field) || given(field.name, field.role) != nullptr) continue;
      const StateValue after = value_of(to_.state, field);
      const auto source = source_.value(field.role);
      const bool is_equal = source && same_number(source->value, after);
      const auto why = phase.why.find(*role);
      const Fate fate = is_equal ? Fate::carried : why == phase.why.end() ? Fate::defaulted : Fate::converted;
      note(fate, "fields." + std::string(field.name), source ? source->key : "", field.role,
           source ? source->value : StateValue(),
           is_equal                 ? ""
           : why == phase.why.end() ? "as in a fresh scaler"
                                    : why->second);
    }
  }

  [[nodiscard]] std::optional<std::int64_t> source_integer(Role role) const {
    const auto value = source_.value(name(role));
    return value ? std::optional(integer_of(value->value, value->key)) : std::nullopt;
  }

  // ---- the account

  [[nodiscard]] const StateValue* given(std::string_view native, std::string_view role) {
    for (const auto& entry : given_) {
      const auto as_role = parse_role(entry.name);
      if (entry.name != native && (role.empty() || !as_role || name(*as_role) != role)) continue;
      if (source_.took(entry.name)) continue;
      used_.insert(entry.name);
      return &entry.value;
    }
    return nullptr;
  }

  void require_given_used() const {
    for (const auto& entry : given_) {
      if (used_.contains(entry.name) || source_.took(entry.name)) continue;
      throw Error(Status::invalid_argument,
                  fmt::format("{}: neither {} nor {} has anything of that name", entry.name,
                              full_name(source_.policy()), full_name(target_spec_)),
                  fmt::format("{} has: {}", full_name(target_spec_), parameter_names(target_spec_)));
    }
  }

  [[nodiscard]] std::string assumption(Fate fate) const {
    if (fate == Fate::kept) return "the source does not store it: the target's own stays";
    return fmt::format("the source does not store it: {}'s default", source_.policy().framework);
  }
  [[nodiscard]] std::string default_of_target() const { return fmt::format("{}'s default", target_spec_.framework); }

  void note(Fate fate, std::string key, std::string source_key, std::string_view role, StateValue before,
            std::string why) {
    if (!source_key.empty()) consumed_.insert(source_key);
    result_.values.push_back(
        {fate, std::move(key), std::move(source_key), parse_role(role), std::move(before), {}, std::move(why)});
  }

  void list_fields() {
    result_.state = to_state(to_);
    for (ConvertedValue& value : result_.values) value.after = get(result_.state, value.key);
    std::stable_partition(result_.values.begin(), result_.values.end(),
                          [](const ConvertedValue& value) { return value.key.starts_with("fields."); });
  }

  [[nodiscard]] bool has_field(std::string_view role) const {
    const auto* field = rule::find_field(source_.policy(), role);
    return field != nullptr && field->role == role;
  }

  void list_lost() {
    const auto lose = [&](const std::string& key, std::string_view role, const StateValue& value) {
      if (consumed_.contains(key) || std::holds_alternative<std::monostate>(value)) return;
      const auto known = parse_role(role);
      if (known == Role::initial_scale) return;
      // A parameter that only tells where a fresh scaler starts: a field goes on from there.
      const bool is_start = key.starts_with("params.") && has_field(role);
      const auto meaning = known && !is_start ? measured(*known, source_.running()) : std::nullopt;
      if (meaning && meaning == measured(*known, to_)) return;  // under other names
      std::string why = fmt::format("{} has nothing of the kind", target_spec_.framework);
      result_.values.push_back({Fate::lost, key, key, known, value, {}, std::move(why)});
    };
    for (const auto& field : source_.policy().fields) {
      if (const StateValue* value = source_.stored().fields.find(field.name))
        lose("fields." + std::string(field.name), field.role, *value);
    }
    for (const auto& parameter : source_.policy().parameters) {
      if (const StateValue* value = source_.stored().params.find(parameter.name)) {
        lose("params." + std::string(parameter.name), parameter.role, *value);
      }
    }
    for (const auto& [key, value] : source_.stored().fields) {
      if (rule::find_field(source_.policy(), key) == nullptr) lose("fields." + key, {}, value);
    }
  }

  [[nodiscard]] bool is_same_rule() const { return &source_.policy() == &target_spec_; }

  const rule::PolicySpec& target_spec_;
  ConversionSource source_;
  const StateSection& given_;
  const StateSection& existing_;
  std::set<std::string, std::less<>> used_;      ///< of given_
  std::set<std::string, std::less<>> consumed_;  ///< source keys with a place in the target
  RunningState to_;
  Conversion result_;
};

}  // namespace

std::string_view name(Fate fate) {
  return std::find_if(fate_names.begin(), fate_names.end(), [&](const auto& row) { return row.first == fate; })->second;
}

Conversion convert(const ScalerState& source, const ConversionTarget& target) {
  return Converter(source, target).run();
}

std::string sentence(const Divergence& divergence) {
  const std::string where = fmt::format("step {} of {}", divergence.step, divergence.sequence);
  if (!divergence.raised.empty()) {
    return fmt::format("{}: the {} stops ({})", where, divergence.other_raised ? "target" : "source",
                       divergence.raised);
  }
  return fmt::format("{}: the source's scale is {}, the target's {}", where, float_text(divergence.scale),
                     float_text(divergence.other));
}

}  // namespace tare
