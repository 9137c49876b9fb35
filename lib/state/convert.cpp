#include "lib/state/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/state/behaviour.hpp"
#include "lib/state/conversion_source.hpp"
#include "lib/state/phase.hpp"
#include "lib/state/policy_state.hpp"
#include "lib/state/policy_value.hpp"
#include "lib/state/window_level.hpp"

namespace tare {
namespace {

using rule::RunningState;

constexpr auto fate_names = std::to_array<std::pair<Outcome, std::string_view>>({
    {Outcome::carried, "carried"},
    {Outcome::converted, "converted"},
    {Outcome::given, "given"},
    {Outcome::assumed, "assumed"},
    {Outcome::kept, "kept"},
    {Outcome::defaulted, "defaulted"},
    {Outcome::clamped, "clamped"},
    {Outcome::implied, "implied"},
    {Outcome::lost, "lost"},
});

/// Counters that say how far the next growth or back-off is. They are set together, after everything else.
constexpr auto phase_roles = std::to_array<Role>(
    {Role::growth_tracker, Role::step, Role::last_overflow_step, Role::hysteresis_tracker, Role::overflow_tracker});

/// Counters of two kinds of frameworks: the second says in its own way what the first does.
constexpr auto twin_counters = std::to_array<std::pair<Role, Role>>({
    {Role::growth_tracker, Role::last_overflow_step},
    {Role::last_overflow_step, Role::growth_tracker},
    {Role::hysteresis_tracker, Role::overflow_tracker},
    {Role::overflow_tracker, Role::hysteresis_tracker},
});

/// What a fresh scaler needs of what such a counter counts.
constexpr auto whole_of_counter = std::to_array<std::pair<Role, Role>>({
    {Role::growth_tracker, Role::growth_interval},
    {Role::last_overflow_step, Role::growth_interval},
    {Role::hysteresis_tracker, Role::hysteresis},
    {Role::overflow_tracker, Role::hysteresis},
});

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
        existing_(target.existing),
        keeper_(target.keeper) {}

  Conversion run() {
    to_.policy = rule::make_policy(target_spec_);
    for (const auto& parameter : target_spec_.parameters) set_parameter(parameter);
    require_given_allowed();
    leave_fixed_parameters();
    rule::prepare(to_.policy);
    choose_level();
    adjust_interval();
    to_.state = rule::initial_state(to_.policy);
    for (const auto& field : target_spec_.fields) {
      if (is_present(field)) set_field(field);
    }
    settle_level();
    set_phase();
    require_given_used();
    list_fields();
    resume();
    list_left();
    Comparison comparison = compare_rules(source_.running(), resumed_);
    result_.divergence = std::move(comparison.first);
    result_.usual_divergence = std::move(comparison.usual);
    return std::move(result_);
  }

 private:
  // ---- parameters

  void set_parameter(const rule::ParameterSpec& parameter) {
    const std::string key = "params." + std::string(parameter.name);
    const auto put = [&](const StateValue& value) { assign(to_.policy.params, parameter, value, key); };
    if (const StateValue* value = given(parameter.name, parameter.role)) {
      put(*value);
      return note(Outcome::given, key, {}, parameter.role, {}, "");
    }
    if (parameter.role == facts(Role::initial_scale).name) return;
    const auto stored = source_.value_for(parameter);
    const bool is_unset = stored && std::holds_alternative<std::monostate>(stored->value);
    const bool may_have_floor = is_unset && parameter.role == name(Role::min_scale) && !is_same_rule();
    if (const auto floor = may_have_floor ? floor_of(source_.running()) : std::nullopt) {
      put(StateValue(*floor));
      return note(Outcome::converted, key, stored->key, parameter.role, {},
                  fmt::format("as {} acts", source_.policy().framework));
    }
    if (stored && (!is_unset || parameter.unset == "null")) {
      put(stored->value);
      const Outcome outcome = stored->outcome;
      const bool is_own = outcome == Outcome::carried || outcome == Outcome::given;
      return note(outcome, key, stored->key, parameter.role, stored->value, is_own ? "" : assumption(outcome));
    }
    if (is_unset) {
      return note(Outcome::defaulted, key, stored->key, parameter.role, {},
                  fmt::format("the source has none; {}", default_of_target()));
    }
    if (const auto derived = behaviour_for(parameter.role)) {
      put(StateValue(*derived));
      return note(Outcome::converted, key, {}, parameter.role, {},
                  fmt::format("as {} acts", source_.policy().framework));
    }
    if (const StateValue* existing = existing_.find(parameter.name)) {
      put(*existing);
      return note(Outcome::kept, key, {}, parameter.role, {}, "the target's own");
    }
    note(Outcome::defaulted, key, {}, parameter.role, {}, default_of_target());
  }

  /// What the user gives is held to what a configuration is held to; what the source had is carried, whatever it is.
  void require_given_allowed() const {
    if (given_.empty()) return;
    const std::string fault = rule::find_fault(target_spec_, to_.policy.params);
    if (fault.empty()) return;
    rule::RuleParams ungiven = to_.policy.params;
    const rule::RuleParams usual = rule::make_policy(target_spec_).params;
    for (const auto& parameter : target_spec_.parameters) {
      const auto means_it = [&](const auto& entry) { return means(entry.name, parameter.name, parameter.role); };
      if (std::ranges::none_of(given_, means_it)) continue;
      assign(ungiven, parameter, value_of(usual, parameter), parameter.name);
    }
    if (rule::find_fault(target_spec_, ungiven) == fault) return;
    throw Error(Status::invalid_argument, fault, "what is given has to be what the framework would take");
  }

  /// What the file does not hold and the framework cannot be told is as its code has it, whatever it was to be: the
  /// counters are set for that.
  void leave_fixed_parameters() {
    const rule::RuleParams fixed = rule::make_policy(target_spec_).params;
    for (const auto& parameter : target_spec_.parameters) {
      const bool is_derived = parameter.list != nullptr;  // mindformers' levels, from two that are told
      if (is_kept(parameter) || is_start(target_spec_, parameter) || is_derived) continue;
      const StateValue own = value_of(fixed, parameter);
      const StateValue wanted = value_of(to_.policy.params, parameter);
      if (same_number(own, wanted)) continue;
      assign(to_.policy.params, parameter, own, parameter.name);
      lose_converted("params." + std::string(parameter.name), wanted);
    }
  }

  [[nodiscard]] bool is_kept(const rule::ParameterSpec& parameter) const {
    return keeper_ == nullptr || keeper_->holds(parameter) || keeper_->is_told(parameter);
  }

  /// A parameter that only tells where a fresh scaler starts: a field goes on from there.
  static bool is_start(const rule::PolicySpec& policy, const rule::ParameterSpec& parameter) {
    if (parameter.role == name(Role::initial_scale)) return true;
    const auto* field = rule::find_field(policy, parameter.role);
    return field != nullptr && field->role == parameter.role;
  }

  /// What was to be at `key` of the target is not: the source's value, or the user's, is lost.
  void lose_converted(const std::string& key, const StateValue& wanted) {
    for (ConvertedValue& value : result_.values) {
      if (value.key != key || value.outcome == Outcome::lost) continue;
      const bool has_source = !value.source_key.empty();
      const auto role = has_source ? role_in_source(value.source_key) : value.role;
      const std::string& lost = has_source ? value.source_key : key;
      value = {Outcome::lost,
               lost,
               value.source_key,
               role,
               has_source ? value.before : wanted,
               {},
               keeper_->why_not(lost.substr(lost.find('.') + 1), role)};
      return;
    }
  }

  [[nodiscard]] std::optional<Role> role_in_source(std::string_view key) const {
    const std::string_view native = key.substr(key.find('.') + 1);
    if (key.starts_with("fields.")) return parse_role(rule::find_field(source_.policy(), native)->role);
    return parse_role(rule::find_parameter(source_.policy(), native)->role);
  }

  /// What the source does where none of its values says so by that role's name.
  [[nodiscard]] std::optional<double> behaviour_for(std::string_view name) const {
    const auto role = parse_role(name);
    return role ? measured(*role, source_.running()) : std::nullopt;
  }

  /// mindformers' window is a level of a list: the nearest one, and growths come as often as that says.
  void choose_level() {
    const auto* levels = rule::find_parameter(target_spec_, name(Role::window_list));
    const auto* window = rule::find_parameter(target_spec_, name(Role::growth_interval));
    const auto wanted = clean_steps_between_growths(source_.running());
    if (levels == nullptr || window == nullptr || !wanted || is_same_rule()) return;
    const StateValue list = value_of(to_.policy.params, *levels);
    const auto& windows = std::get<std::vector<std::int64_t>>(std::get<StateArray>(list).values);
    const std::int64_t nearest = *std::min_element(
        windows.begin(), windows.end(), [&](auto a, auto b) { return std::abs(a - *wanted) < std::abs(b - *wanted); });
    assign(to_.policy.params, *window, StateValue(nearest), window->name);
    if (nearest != *wanted) {
      level_why_ = fmt::format("the level of {} that is nearest to {}: growths come every {} clean steps at first",
                               fmt::join(windows, ", "), *wanted, nearest);
    }
    for (ConvertedValue& value : result_.values) {
      if (value.key != "params." + std::string(window->name) || level_why_.empty()) continue;
      value.outcome = Outcome::converted;
      value.why = level_why_;
    }
  }

  /// flax grows one clean step later than its interval says: equal periods, not equal numbers, mean the same.
  void adjust_interval() {
    const auto* parameter = rule::find_parameter(target_spec_, name(Role::growth_interval));
    if (parameter == nullptr || parameter->role != name(Role::growth_interval) || !is_kept(*parameter)) return;
    if (is_start(target_spec_, *parameter)) return;
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
      value.outcome = Outcome::converted;
      value.why = fmt::format("{} {} {}: growths come every {} clean steps in both", interval,
                              adjusted > interval ? "+" : "-", std::abs(adjusted - interval), *wanted);
    }
  }

  // ---- fields

  void set_field(const rule::FieldSpec& field) {
    const std::string key = "fields." + std::string(field.name);
    if (const StateValue* value = given(field.name, field.role)) {
      assign(to_.state, field, *value, key);
      return note(Outcome::given, key, {}, field.role, {}, "");
    }
    if (field.role == name(Role::scale)) return set_scale(field, key);
    if (is_same_rule()) {
      const auto own = source_.at("fields", field.name);
      if (!own) return;
      assign(to_.state, field, own->value, key);
      return note(own->outcome, key, key, field.role, own->value, "");
    }
    const auto role = parse_role(field.role);
    if (is_phase(role)) return;
    if (role == Role::growth_interval) return set_window(field, key);
    note(Outcome::defaulted, key, {}, field.role, {}, "as in a fresh scaler");
  }

  /// Of a window and its level, what was not given follows what was; another list is told.
  void settle_level() {
    const auto level = window_level(to_);
    if (!level) return;
    StateSection said;
    for (const auto& field : target_spec_.fields) {
      const bool is_level = field.role == name(Role::growth_interval) || field.role == name(Role::window_index);
      if (is_level && given(field.name, field.role) != nullptr) said.set(field.name, value_of(to_.state, field));
    }
    complete_level(to_, said);
    const bool is_renewed =
        std::ranges::any_of(given_, [&](const auto& entry) { return makes_list(target_spec_, entry.name); });
    if (!is_renewed || !is_same_rule()) return;
    const WindowLevel landed = *window_level(to_);
    result_.warnings.push_back(fmt::format("the windows are {} now, and the state is at level {} of {}: window {}",
                                           landed.list(), landed.index + 1, landed.windows.size(), landed.window));
  }

  /// A window that changes stands among the fields; its level was chosen with the parameters.
  void set_window(const rule::FieldSpec& field, const std::string& key) {
    const auto source = source_.value(field.role);
    if (!source) return note(Outcome::defaulted, key, {}, field.role, {}, "as in a fresh scaler");
    const bool is_equal = same_number(source->value, value_of(to_.state, field));
    note(is_equal ? source->outcome : Outcome::converted, key, source->key, field.role, source->value,
         is_equal             ? ""
         : level_why_.empty() ? fmt::format("as {} acts", source_.policy().framework)
                              : level_why_);
  }

  /// A scale that does not move has no counters.
  [[nodiscard]] bool is_present(const rule::FieldSpec& field) const {
    return field.present == nullptr || field.present(to_.policy.params);
  }

  void set_scale(const rule::FieldSpec& field, const std::string& key) {
    const auto said = source_.value(name(Role::scale));
    if (!said) return note(Outcome::defaulted, key, {}, field.role, {}, "the source has none: as in a fresh scaler");
    const SourceValue& scale = *said;
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
    if (!bound.empty()) return note(Outcome::clamped, key, scale.key, field.role, scale.value, bound);
    if (held == wanted || (std::isnan(held) && std::isnan(wanted))) {
      return note(Outcome::carried, key, scale.key, field.role, scale.value, "");
    }
    note(Outcome::converted, key, scale.key, field.role, scale.value, "rounded to what the target's type holds");
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
      const auto source = source_of_counter(*role);
      const bool is_equal = source && has_role(*source, *role) && same_number(source->value, after);
      const auto why = phase.why.find(*role);
      const Outcome outcome = is_equal                 ? Outcome::carried
                              : why == phase.why.end() ? Outcome::defaulted
                                                       : Outcome::converted;
      note(outcome, "fields." + std::string(field.name), source ? source->key : "", field.role,
           source ? source->value : StateValue(),
           is_equal                 ? ""
           : why == phase.why.end() ? "as in a fresh scaler"
                                    : why->second);
    }
  }

  /// The source's counter of that role, or of another that says the same in its own way.
  [[nodiscard]] std::optional<SourceValue> source_of_counter(Role role) const {
    if (auto own = source_.value(name(role))) return own;
    for (const auto& [one, other] : twin_counters) {
      if (one != role) continue;
      if (auto twin = source_.value(name(other))) return twin;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::int64_t> source_integer(Role role) const {
    const auto value = source_.value(name(role));
    return value ? std::optional(integer_of(value->value, value->key)) : std::nullopt;
  }

  // ---- the account

  /// A key by its native name, or by a word for its role.
  static bool means(const std::string& key, std::string_view native, std::string_view role) {
    const auto as_role = parse_role(key);
    return key == native || (!role.empty() && as_role && name(*as_role) == role);
  }

  [[nodiscard]] const StateValue* given(std::string_view native, std::string_view role) {
    for (const auto& entry : given_) {
      if (!means(entry.name, native, role)) continue;
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

  [[nodiscard]] std::string assumption(Outcome outcome) const {
    if (outcome == Outcome::kept) return "the source does not store it: the target's own stays";
    return fmt::format("the source does not store it: {}'s default", source_.policy().framework);
  }
  [[nodiscard]] std::string default_of_target() const { return fmt::format("{}'s default", target_spec_.framework); }

  void note(Outcome outcome, std::string key, std::string source_key, std::string_view role, StateValue before,
            std::string why) {
    result_.values.push_back(
        {outcome, std::move(key), std::move(source_key), parse_role(role), std::move(before), {}, std::move(why)});
  }

  void list_fields() {
    result_.state = to_state(to_);
    for (ConvertedValue& value : result_.values) {
      if (value.outcome != Outcome::lost) value.after = get(result_.state, value.key);
    }
    std::stable_partition(result_.values.begin(), result_.values.end(),
                          [](const ConvertedValue& value) { return value.key.starts_with("fields."); });
  }

  // ---- what comes back

  /// The scaler as the target's framework has it after a resume: what is in the file, what it is told, its defaults.
  void resume() {
    resumed_ = to_;
    result_.resumed = result_.state;
    if (keeper_ == nullptr) return;
    ScalerState saved = keeper_->saved(result_.state);
    for (const auto& parameter : target_spec_.parameters) {
      const StateValue* value = result_.state.params.find(parameter.name);
      if (!keeper_->holds(parameter) && is_kept(parameter)) saved.params.set(parameter.name, *value);
    }
    resumed_ = start_from(saved);
    result_.resumed = to_state(resumed_);
    const std::vector<ConvertedValue> wanted = result_.values;
    for (const ConvertedValue& value : wanted) {
      if (value.outcome != Outcome::lost) settle(value, saved);
    }
  }

  /// A value that does not come back is lost, or is what a fresh scaler starts with.
  void settle(const ConvertedValue& wanted, const ScalerState& saved) {
    const StateValue* now = find(result_.resumed, wanted.key);
    const bool is_there = find(saved, wanted.key) != nullptr;
    if (now == nullptr || !same_number(*now, wanted.after)) {
      const bool is_new = now != nullptr && wanted.source_key.empty() && wanted.outcome != Outcome::given;
      return is_new ? replace(wanted.key, Outcome::defaulted, *now) : lose_converted(wanted.key, wanted.after);
    }
    if (!is_there && wanted.key.starts_with("fields.")) replace(wanted.key, Outcome::defaulted, *now);
  }

  void replace(const std::string& key, Outcome outcome, const StateValue& now) {
    for (ConvertedValue& value : result_.values) {
      if (value.key != key || value.outcome == Outcome::lost) continue;
      value = {outcome, key, {}, value.role, {}, now, "not stored there: as a resumed scaler starts"};
    }
  }

  // ---- what stays behind

  /// Every value of the source that none of the target's came from.
  void list_left() {
    forget_twins();
    std::set<std::string, std::less<>> used;
    for (const ConvertedValue& value : result_.values) used.insert(value.source_key);
    for (const auto& field : source_.policy().fields) {
      const std::string key = "fields." + std::string(field.name);
      const auto value = source_.at("fields", field.name);
      if (value && !used.contains(key) && source_.stored().fields.find(field.name))
        leave_field(key, field, value->value);
    }
    for (const auto& parameter : source_.policy().parameters) {
      const std::string key = "params." + std::string(parameter.name);
      const auto value = source_.at("params", parameter.name);
      if (value && !used.contains(key)) leave_parameter(key, parameter, *value);
    }
    for (const auto& [key, value] : source_.stored().fields) {
      if (rule::find_field(source_.policy(), key) == nullptr) lose("fields." + key, {}, value);
    }
  }

  /// One value of the source that two of the target's came from is lost once.
  void forget_twins() {
    std::set<std::string, std::less<>> lost;
    std::erase_if(result_.values, [&](const ConvertedValue& value) {
      return value.outcome == Outcome::lost && !lost.insert(value.key).second;
    });
  }

  void lose(const std::string& key, std::optional<Role> role, const StateValue& value) {
    if (std::holds_alternative<std::monostate>(value)) return;
    const std::string why = keeper_ != nullptr ? keeper_->why_not(key.substr(key.find('.') + 1), role)
                                               : fmt::format("{} has nothing of the kind", target_spec_.framework);
    result_.values.push_back({Outcome::lost, key, key, role, value, {}, why});
  }

  /// A counter is implied where the target acts as it says, now and after the next change of the scale.
  void leave_field(const std::string& key, const rule::FieldSpec& field, const StateValue& value) {
    const auto role = parse_role(field.role);
    const auto whole = std::find_if(whole_of_counter.begin(), whole_of_counter.end(),
                                    [&](const auto& row) { return row.first == role; });
    if (whole == whole_of_counter.end() || !acts_alike(*role) || !acts_alike(whole->second)) {
      return lose(key, role, value);
    }
    result_.values.push_back({Outcome::implied,
                              key,
                              key,
                              role,
                              value,
                              {},
                              fmt::format("{} goes on alike without it", target_spec_.framework)});
  }

  void leave_parameter(const std::string& key, const rule::ParameterSpec& parameter, const SourceValue& value) {
    const auto role = parse_role(parameter.role);
    if (is_start(source_.policy(), parameter)) return;
    const auto meaning = role ? measured(*role, source_.running()) : std::nullopt;
    const bool is_stored = source_.stored().params.find(parameter.name) != nullptr;
    if (meaning ? acts_alike(*role) : !is_stored) return;
    lose(key, role, value.value);
  }

  /// Whether a role comes to the same in both, under whatever names.
  [[nodiscard]] bool acts_alike(Role role) const {
    return measured(role, source_.running()) == measured(role, resumed_);
  }

  [[nodiscard]] bool has_role(const SourceValue& value, Role role) const {
    const auto own = source_.value(name(role));
    return own && own->key == value.key;
  }

  [[nodiscard]] bool is_same_rule() const { return &source_.policy() == &target_spec_; }

  const rule::PolicySpec& target_spec_;
  ConversionSource source_;
  const StateSection& given_;
  const StateSection& existing_;
  Keeper* keeper_;
  std::set<std::string, std::less<>> used_;  ///< of given_
  std::string level_why_;                    ///< how the window of a list came about; empty where it is the source's
  RunningState to_;                          ///< as it is saved
  RunningState resumed_;                     ///< as the target's framework loads it
  Conversion result_;
};

}  // namespace

std::string_view name(Outcome outcome) {
  return std::find_if(fate_names.begin(), fate_names.end(), [&](const auto& row) { return row.first == outcome; })
      ->second;
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
  return fmt::format("{}: the source's scale is {}, the target's {} ({})", where, float_text(divergence.scale),
                     float_text(divergence.other), divergence.why);
}

}  // namespace tare
