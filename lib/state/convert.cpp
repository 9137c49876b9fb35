#include "lib/state/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
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

std::string text_of(const StateValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return float_text(*real);
  return std::string(words_for(kind_of(value)));
}

bool same_number(const StateValue& a, const StateValue& b) {
  if (a == b) return true;
  const auto is_number = [](const StateValue& value) {
    return std::holds_alternative<double>(value) || std::holds_alternative<std::int64_t>(value) ||
           std::holds_alternative<bool>(value);
  };
  return is_number(a) && is_number(b) && number_of(a, {}) == number_of(b, {});
}

/// A value of the source, and where it stands.
struct SourceValue {
  std::string key;
  StateValue value;
  bool is_stored = true;  ///< false: its framework's default
};

class Converter {
 public:
  Converter(const ScalerState& source, const ConversionTarget& target)
      : source_(source),
        target_spec_(require_policy(target.policy, target.variant)),
        given_(target.given),
        existing_(target.existing) {
    normalise(source_);
    const rule::PolicySpec* spec = policy_of(source_);
    if (spec == nullptr) start_from(source_);  // throws, and says why
    source_spec_ = spec;
    for (const rule::PolicySpec* one : {source_spec_, &target_spec_}) {
      if (one->driver != rule::Driver::kStatistics) continue;
      throw Error(Status::unsupported,
                  fmt::format("policy \"{}\" follows statistics of gradients, not overflows", one->name),
                  "no other policy's state says the same");
    }
  }

  Conversion run() {
    give_to_source();
    take_existing();
    from_ = start_from(source_);
    all_ = to_state(from_);
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
    compare();
    return std::move(result_);
  }

 private:
  // ---- the source

  /// The user's values for what the source's policy knows and the state does not hold.
  void give_to_source() {
    for (const auto& [key, value] : given_) {
      const auto* field = field_for(*source_spec_, key);
      const auto* parameter = field == nullptr ? parameter_for(*source_spec_, key) : nullptr;
      if (field == nullptr && parameter == nullptr) continue;
      const std::string name(field != nullptr ? field->name : parameter->name);
      StateSection& section = field != nullptr ? source_.fields : source_.params;
      used_.insert(key);
      if (section.find(name) != nullptr) {
        throw Error(Status::refused,
                    fmt::format("{}: the source holds it already ({})", key, text_of(*section.find(name))),
                    "edit the target afterwards to change it");
      }
      section.set(name,
                  field != nullptr ? tare::converted(*field, value, key) : tare::converted(*parameter, value, key));
      given_keys_.insert(name);
    }
  }

  /// What the source does not store is taken to be as in the scaler that takes over: so do they count alike.
  void take_existing() {
    for (const auto& parameter : source_spec_->parameters) {
      const bool is_other = source_spec_ != &target_spec_;
      if ((is_other && parameter.role.empty()) || source_.params.find(parameter.name) != nullptr) continue;
      const auto* own = rule::find_parameter(target_spec_, is_other ? parameter.role : parameter.name);
      const StateValue* value =
          own == nullptr || (is_other && own->role != parameter.role) ? nullptr : existing_.find(own->name);
      if (value == nullptr || std::holds_alternative<std::monostate>(*value)) continue;
      source_.params.set(parameter.name, tare::converted(parameter, *value, parameter.name));
      kept_keys_.emplace(parameter.name);
    }
  }

  [[nodiscard]] std::optional<SourceValue> source_value(std::string_view role) const {
    for (const auto& field : source_spec_->fields) {
      if (field.role != role) continue;
      if (const StateValue* value = all_.fields.find(field.name)) {
        return SourceValue{"fields." + std::string(field.name), *value, source_.fields.find(field.name) != nullptr};
      }
    }
    for (const auto& parameter : source_spec_->parameters) {
      if (parameter.role != role) continue;
      const StateValue* value = all_.params.find(parameter.name);
      if (value == nullptr) return std::nullopt;
      return SourceValue{"params." + std::string(parameter.name), *value,
                         source_.params.find(parameter.name) != nullptr};
    }
    return std::nullopt;
  }

  // ---- parameters

  /// Of the same policy by name, of another one by role.
  [[nodiscard]] std::optional<SourceValue> source_of(const rule::ParameterSpec& parameter) const {
    if (source_spec_ == &target_spec_) {
      const StateValue* value = all_.params.find(parameter.name);
      if (value == nullptr) return std::nullopt;
      return SourceValue{"params." + std::string(parameter.name), *value,
                         source_.params.find(parameter.name) != nullptr};
    }
    return parameter.role.empty() ? std::nullopt : source_value(parameter.role);
  }

  void set_parameter(const rule::ParameterSpec& parameter) {
    const std::string key = "params." + std::string(parameter.name);
    const auto put = [&](const StateValue& value) { assign(to_.policy.params, parameter, value, key); };
    if (const StateValue* value = given(parameter.name, parameter.role)) {
      put(*value);
      return note(Fate::given, key, {}, parameter.role, {}, "");
    }
    if (parameter.role == facts(Role::initial_scale).name) return;
    const auto stored = source_of(parameter);
    const bool is_unset = stored && std::holds_alternative<std::monostate>(stored->value);
    if (stored && (!is_unset || parameter.unset == "null")) {
      put(stored->value);
      const Fate fate = fate_of(*stored);
      const bool is_old = fate == Fate::carried || fate == Fate::given;
      return note(fate, key, stored->key, parameter.role, stored->value, is_old ? "" : assumption(fate));
    }
    if (is_unset) {
      return note(Fate::defaulted, key, stored->key, parameter.role, {},
                  fmt::format("the source has none; {}", default_of_target()));
    }
    if (const auto derived = behaviour_for(parameter.role)) {
      put(StateValue(*derived));
      return note(Fate::converted, key, {}, parameter.role, {}, fmt::format("as {} acts", source_spec_->framework));
    }
    if (const StateValue* existing = existing_.find(parameter.name)) {
      put(*existing);
      return note(Fate::kept, key, {}, parameter.role, {}, "the target's own");
    }
    note(Fate::defaulted, key, {}, parameter.role, {}, default_of_target());
  }

  [[nodiscard]] Fate fate_of(const SourceValue& value) const {
    const std::string bare = value.key.substr(value.key.find('.') + 1);
    if (given_keys_.contains(bare)) return Fate::given;
    if (kept_keys_.contains(bare)) return Fate::kept;
    return value.is_stored ? Fate::carried : Fate::assumed;
  }

  /// What the source does where none of its values says so by that role's name.
  [[nodiscard]] std::optional<double> behaviour_for(std::string_view name) const {
    const auto role = parse_role(name);
    return role ? measured(*role, from_) : std::nullopt;
  }

  /// flax grows one clean step later than its interval says: equal periods, not equal numbers, mean the same.
  void adjust_interval() {
    const auto* parameter = rule::find_parameter(target_spec_, name(Role::growth_interval));
    if (parameter == nullptr || parameter->role != name(Role::growth_interval)) return;
    RunningState fresh = to_;
    fresh.state = rule::initial_state(fresh.policy);
    const auto wanted = clean_steps_between_growths(from_);
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
    const bool is_same_rule = source_spec_ == &target_spec_;
    if (is_same_rule) {
      const StateValue* value = all_.fields.find(field.name);
      if (value == nullptr) return;
      assign(to_.state, field, *value, key);
      return note(source_.fields.find(field.name) != nullptr ? Fate::carried : Fate::assumed, key, key, field.role,
                  *value, "");
    }
    if (is_phase(parse_role(field.role))) return;
    note(Fate::defaulted, key, {}, field.role, {}, "as in a fresh scaler");
  }

  /// A scale that does not move has no counters.
  [[nodiscard]] bool is_present(const rule::FieldSpec& field) const {
    return field.present == nullptr || field.present(to_.policy.params);
  }

  void set_scale(const rule::FieldSpec& field, const std::string& key) {
    const SourceValue scale = *source_value(name(Role::scale));
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
    if (source_spec_ == &target_spec_) return;
    const Phase phase = transfer_phase(from_, to_, [&](Role role) { return source_integer(role); });
    for (const std::string& warning : phase.warnings) result_.warnings.push_back(warning);
    for (const auto& field : target_spec_.fields) {
      const auto role = parse_role(field.role);
      if (!is_phase(role) || !is_present(field) || given(field.name, field.role) != nullptr) continue;
      const StateValue after = value_of(to_.state, field);
      const auto source = source_value(field.role);
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
    const auto value = source_value(name(role));
    return value ? std::optional(integer_of(value->value, value->key)) : std::nullopt;
  }

  // ---- the account

  [[nodiscard]] const StateValue* given(std::string_view native, std::string_view role) {
    for (const auto& entry : given_) {
      const auto as_role = parse_role(entry.name);
      if (entry.name != native && (role.empty() || !as_role || name(*as_role) != role)) continue;
      if (used_.contains(entry.name) && given_keys_.contains(entry.name)) continue;
      used_.insert(entry.name);
      return &entry.value;
    }
    return nullptr;
  }

  void require_given_used() const {
    for (const auto& entry : given_) {
      if (used_.contains(entry.name)) continue;
      throw Error(Status::invalid_argument,
                  fmt::format("{}: neither {} nor {} has anything of that name", entry.name, full_name(*source_spec_),
                              full_name(target_spec_)),
                  fmt::format("{} has: {}", full_name(target_spec_), parameter_names(target_spec_)));
    }
  }

  [[nodiscard]] std::string assumption(Fate fate) const {
    if (fate == Fate::kept) return "the source does not store it: the target's own stays";
    return fmt::format("the source does not store it: {}'s default", source_spec_->framework);
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
    const auto* field = rule::find_field(*source_spec_, role);
    return field != nullptr && field->role == role;
  }

  void list_lost() {
    const auto lose = [&](const std::string& key, std::string_view role, const StateValue& value) {
      if (consumed_.contains(key) || std::holds_alternative<std::monostate>(value)) return;
      const auto known = parse_role(role);
      if (known == Role::initial_scale) return;
      const bool is_start =
          key.starts_with("params.") && has_field(role);  // of a fresh scaler; a field goes on from there
      const auto meaning = known && !is_start ? measured(*known, from_) : std::nullopt;
      if (meaning && meaning == measured(*known, to_)) return;  // under other names
      std::string why = fmt::format("{} has nothing of the kind", target_spec_.framework);
      result_.values.push_back({Fate::lost, key, key, known, value, {}, std::move(why)});
    };
    for (const auto& field : source_spec_->fields) {
      if (const StateValue* value = source_.fields.find(field.name))
        lose("fields." + std::string(field.name), field.role, *value);
    }
    for (const auto& parameter : source_spec_->parameters) {
      if (const StateValue* value = source_.params.find(parameter.name)) {
        lose("params." + std::string(parameter.name), parameter.role, *value);
      }
    }
    for (const auto& [key, value] : source_.fields) {
      if (rule::find_field(*source_spec_, key) == nullptr) lose("fields." + key, {}, value);
    }
  }

  void compare() {
    RunningState other = to_;
    result_.divergence = first_divergence(from_, other);
  }

  ScalerState source_;
  const rule::PolicySpec* source_spec_ = nullptr;
  const rule::PolicySpec& target_spec_;
  const StateSection& given_;
  const StateSection& existing_;
  std::set<std::string, std::less<>> used_;        ///< of given_
  std::set<std::string, std::less<>> given_keys_;  ///< of the source, that the user gave
  std::set<std::string, std::less<>> kept_keys_;   ///< of the source, taken from what is there already
  std::set<std::string, std::less<>> consumed_;    ///< source keys with a place in the target
  RunningState from_, to_;
  ScalerState all_;  ///< the source with its framework's defaults filled in
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
