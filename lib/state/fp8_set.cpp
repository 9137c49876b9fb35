#include "lib/state/fp8_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"

namespace tare {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Status::mismatch, what);
}

// ---- values

/// The items of a list, or one value as a list of one.
template <class Item>
std::vector<Item> items_of(const StateValue& value, std::string_view what, const auto& convert) {
  const auto* array = std::get_if<StateArray>(&value);
  if (array == nullptr) return {convert(value, what)};
  std::vector<Item> items;
  items.reserve(array->size());
  std::visit(
      [&](const auto& list) {
        for (const auto& item : list) items.push_back(convert(StateValue(static_cast<StateValue>(item)), what));
      },
      array->values);
  return items;
}

double as_number(const StateValue& value, std::string_view what) {
  return number_of(value, what);
}
float as_float(const StateValue& value, std::string_view what) {
  return static_cast<float>(number_of(value, what));
}
std::int64_t as_count(const StateValue& value, std::string_view what) {
  const std::int64_t count = integer_of(value, what);
  if (count < 0) refuse(fmt::format("{} has {}, below 0", what, count));
  return count;
}
/// A counter of 32 bits.
std::int64_t as_counter(const StateValue& value, std::string_view what) {
  const std::int64_t count = as_count(value, what);
  if (count > 0xffffffff) refuse(fmt::format("{} has {}, beyond 32 bits", what, count));
  return count;
}
/// 0 or 1.
std::int64_t as_flag(const StateValue& value, std::string_view what) {
  const std::int64_t flag = integer_of(value, what);
  if (flag != 0 && flag != 1) refuse(fmt::format("{} has {}, allowed: 0, 1", what, flag));
  return flag;
}
/// A greatest magnitude has no sign.
float as_amax(const StateValue& value, std::string_view what) {
  const float amax = as_float(value, what);
  if (amax < 0) refuse(fmt::format("{} has {}, below 0", what, float_text(static_cast<double>(amax))));
  return std::fabs(amax);
}

const std::string& text_in(const StateValue& value, std::string_view what) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) refuse(fmt::format("{} is {}, text is meant", what, words_for(kind_of(value))));
  return *text;
}

Dtype as_format(const StateValue& value, std::string_view what) {
  const std::string& name = text_in(value, what);
  if (const auto format = find_fp8_format(name)) return *format;
  refuse(fmt::format("{} is \"{}\", allowed: e4m3, e5m2, f16, bf16, f32", what, escaped(name)));
}

/// Of formats as wide as bf16 no rule but MS-AMP's says anything: that these are not scaled.
void require_scaled(const Fp8Set& set) {
  if (set.policy->rule == kernels::fp8::Rule::msamp) return;
  for (const Dtype format : set.formats) {
    if (format != Dtype::bf16 && format != Dtype::f32) continue;
    refuse(fmt::format("format \"{}\" is policy \"msamp\"'s alone, whose scale for it is 1; this is \"{}\"",
                       fp8_format_name(format), set.policy->name));
  }
}

// ---- parameters

std::int64_t index_of_word(const Fp8ParameterSpec& spec, const StateValue& value, std::string_view what) {
  const auto found = std::ranges::find(spec.words, std::string_view(text_in(value, what)));
  if (found != spec.words.end()) return found - spec.words.begin();
  refuse(fmt::format("{} is \"{}\", allowed: {}", what, escaped(text_in(value, what)), range_text(spec)));
}

template <class Number>
Number in_range(const Fp8ParameterSpec& spec, Number value, std::string_view what) {
  const auto number = static_cast<double>(value);
  if (number >= spec.least && number <= spec.most) return value;
  refuse(fmt::format("{} is {}, allowed: {}", what, float_text(number), range_text(spec)));
}

struct Put {
  Fp8Parameters& into;
  const Fp8ParameterSpec& spec;
  const StateValue& value;
  std::string_view what;

  void operator()(std::int64_t Fp8Parameters::*member) const {
    into.*member =
        spec.words.empty() ? in_range(spec, integer_of(value, what), what) : index_of_word(spec, value, what);
  }
  void operator()(double Fp8Parameters::*member) const { into.*member = in_range(spec, number_of(value, what), what); }
  void operator()(bool Fp8Parameters::*member) const {
    into.*member = in_range(spec, integer_of(value, what), what) != 0;
  }
};

void assign_slots(Fp8Set& set, const StateValue& value) {
  set.names.clear();
  std::size_t count = 0;
  if (kind_of(value) == ValueKind::array) {
    set.names = items_of<std::string>(
        value, fp8_slots_key, [](const StateValue& item, std::string_view what) { return text_in(item, what); });
    count = set.names.size();
  } else {
    count = static_cast<std::size_t>(as_count(value, fp8_slots_key));
  }
  if (count > most_fp8_slots) refuse(fmt::format("slots: {} are more than {}", count, most_fp8_slots));
  set.formats.resize(count, set.formats.empty() ? Dtype::f8_e4m3fn : set.formats.front());
}

/// One format is that of all slots. REQUIRES: "slots" was assigned.
void assign_formats(Fp8Set& set, const StateValue& value) {
  std::vector<Dtype> formats = items_of<Dtype>(value, fp8_format_key, as_format);
  if (formats.size() == 1) formats.resize(set.count(), formats.front());
  if (formats.size() != set.count()) {
    refuse(fmt::format("format: {} are given for {} slots", formats.size(), set.count()));
  }
  set.formats = std::move(formats);
}

// ---- fields

template <class Item>
void take(std::vector<Item>& into, const StateValue& value, std::string_view what, const auto& convert) {
  std::vector<Item> items = items_of<Item>(value, what, convert);
  if (items.size() != into.size()) {
    refuse(fmt::format("{} has {} values, {} are meant", what, items.size(), into.size()));
  }
  into = std::move(items);
}

/// Rows are slots: [slots, length]; one row alone is a list.
void require_rows(const Fp8Set& set, const StateValue& value, std::string_view what) {
  const auto* array = std::get_if<StateArray>(&value);
  if (array == nullptr || array->shape.size() < 2) return;
  const auto length = static_cast<std::uint64_t>(set.parameters.history_length);
  if (array->shape.size() == 2 && array->shape[0] == set.count() && array->shape[1] == length) return;
  refuse(fmt::format("{} is {} by {}, {} slots by {} entries are meant", what, array->shape[0], array->shape[1],
                     set.count(), length));
}

void take_field(Fp8Set& set, const Fp8FieldSpec& field, const StateValue& value) {
  const std::string what = "fields." + std::string(field.name);
  switch (field.array) {
    case Fp8Array::scale:
      return take(set.scale, value, what, as_float);
    case Fp8Array::mu:
      return take(set.mu, value, what, as_number);
    case Fp8Array::history:
      require_rows(set, value, what);
      return take(set.history, value, what, as_amax);
    case Fp8Array::counter:
      return take(set.counter, value, what, as_counter);
    case Fp8Array::initialised:
      return take(set.counter, value, what, as_flag);
    case Fp8Array::amax:
      return take(set.amax, value, what, as_amax);
    case Fp8Array::seen:
      return take(set.seen, value, what, as_count);
    case Fp8Array::at_largest:
      return take(set.at_largest, value, what, as_count);
  }
}

StateValue field_value(const Fp8Set& set, const Fp8FieldSpec& field) {
  const std::uint64_t count = set.count();
  switch (field.array) {
    case Fp8Array::scale:
      return StateArray{{count}, set.scale};
    case Fp8Array::mu:
      return StateArray{{count}, set.mu};
    case Fp8Array::history:
      return StateArray{{count, static_cast<std::uint64_t>(set.parameters.history_length)}, set.history};
    case Fp8Array::counter:
    case Fp8Array::initialised:
      return StateArray{{count}, set.counter};
    case Fp8Array::amax:
      return StateArray{{count}, set.amax};
    case Fp8Array::seen:
      return StateArray{{count}, set.seen};
    case Fp8Array::at_largest:
      return StateArray{{count}, set.at_largest};
  }
  return {};
}

/// What stands under params, and what a framework keeps beside its fields.
void take_params(Fp8Set& set, const ScalerState& state) {
  if (const StateValue* slots = state.params.find(fp8_slots_key)) assign(set, fp8_slots_key, *slots);
  for (const auto& [name, value] : state.params) {
    if (name != fp8_slots_key && !assign(set, name, value)) {
      refuse("params." + escaped(name) + " is none of policy \"" + std::string(set.policy->name) + "\"");
    }
  }
}

void take_fields(Fp8Set& set, const ScalerState& state) {
  for (const Fp8FieldSpec& field : set.policy->fields) {
    const StateValue* value = state.fields.find(field.name);
    if (value != nullptr) {
      take_field(set, field, *value);
    } else if (field.needed) {
      refuse("the state has no fields." + std::string(field.name));
    }
  }
  for (const auto& entry : state.fields) {
    if (std::ranges::find(set.policy->fields, entry.name, &Fp8FieldSpec::name) == set.policy->fields.end()) {
      refuse("fields." + escaped(entry.name) + " is none of policy \"" + std::string(set.policy->name) + "\"");
    }
  }
}

/// How many slots and entries the fields speak of, where the parameters do not say.
void guess_sizes(Fp8Set& set, const ScalerState& state) {
  const auto array_at = [&](std::string_view name) -> const StateArray* {
    const StateValue* value = state.fields.find(name);
    return value == nullptr ? nullptr : std::get_if<StateArray>(value);
  };
  if (state.params.find(fp8_slots_key) == nullptr) {
    const StateArray* scale = array_at(set.policy->fields.front().name);
    assign_slots(set, scale == nullptr ? std::int64_t{1} : static_cast<std::int64_t>(scale->size()));
  }
  for (const Fp8FieldSpec& field : set.policy->fields) {
    const StateArray* history = field.array == Fp8Array::history ? array_at(field.name) : nullptr;
    if (history == nullptr || history->shape.empty()) continue;
    set.parameters.history_length = std::max<std::int64_t>(1, static_cast<std::int64_t>(history->shape.back()));
  }
}

}  // namespace

const Fp8PolicySpec& require_fp8_policy(std::string_view name) {
  if (const Fp8PolicySpec* spec = find_fp8_policy(name)) return *spec;
  std::string names;
  for (const Fp8PolicySpec& spec : fp8_policies()) names.append(names.empty() ? "" : ", ").append(spec.name);
  throw Error(Status::invalid_argument, fmt::format("there is no FP8 policy \"{}\"", escaped(name)),
              "Policies: " + names);
}

bool assign(Fp8Set& set, std::string_view key, const StateValue& value) {
  if (key == fp8_slots_key) {
    assign_slots(set, value);
  } else if (key == fp8_format_key) {
    assign_formats(set, value);
  } else if (const Fp8ParameterSpec* spec = find_parameter(*set.policy, key)) {
    std::visit(Put{set.parameters, *spec, value, key}, spec->member);
  } else {
    return false;
  }
  return true;
}

StateValue parameter_value(const Fp8Parameters& parameters, const Fp8ParameterSpec& spec) {
  return std::visit(
      [&](auto member) -> StateValue {
        if constexpr (std::is_same_v<decltype(member), std::int64_t Fp8Parameters::*>) {
          const std::int64_t value = parameters.*member;
          if (!spec.words.empty()) return std::string(spec.words[static_cast<std::size_t>(value)]);
          return value;
        } else {
          return parameters.*member;
        }
      },
      spec.member);
}

void start_fresh(Fp8Set& set) {
  require_scaled(set);
  const std::size_t count = set.count();
  const auto length = static_cast<std::size_t>(set.parameters.history_length);
  if (length != 0 && count > most_fp8_history_entries / length) {
    refuse(
        fmt::format("{} slots with a history of {} are more than {} entries", count, length, most_fp8_history_entries));
  }
  set.scale.assign(count, static_cast<float>(set.parameters.initial_scale));
  set.mu.assign(count, set.parameters.initial_scale);
  set.history.assign(count * length, 0.0f);
  set.counter.assign(count, 0);
  set.amax.assign(count, 0.0f);
  set.seen.assign(count, 0);
  set.at_largest.assign(count, 0);
}

bool lists_scales(const Fp8Set& set, std::string_view key, const StateValue& value) {
  const Fp8ParameterSpec* spec = find_parameter(*set.policy, key);
  return spec != nullptr && spec->member == Fp8Member(&Fp8Parameters::initial_scale) &&
         kind_of(value) == ValueKind::array;
}

void start_scales(Fp8Set& set, std::string_view key, const StateValue& value) {
  const Fp8ParameterSpec& spec = *find_parameter(*set.policy, key);
  take(set.mu, value, key,
       [&](const StateValue& item, std::string_view what) { return in_range(spec, number_of(item, what), what); });
  std::ranges::transform(set.mu, set.scale.begin(), [](double scale) { return static_cast<float>(scale); });
}

ScalerState to_state(const Fp8Set& set) {
  ScalerState state;
  state.policy = set.policy->name;
  for (const Fp8ParameterSpec& spec : set.policy->parameters)
    state.params.set(spec.name, parameter_value(set.parameters, spec));
  const auto count = static_cast<std::uint64_t>(set.count());
  if (set.names.empty()) {
    state.params.set(fp8_slots_key, static_cast<std::int64_t>(count));
  } else {
    state.params.set(fp8_slots_key, StateArray{{count}, set.names});
  }
  std::vector<std::string> formats;
  for (const Dtype format : set.formats) formats.emplace_back(fp8_format_name(format));
  state.params.set(fp8_format_key, StateArray{{count}, std::move(formats)});
  for (const Fp8FieldSpec& field : set.policy->fields) state.fields.set(field.name, field_value(set, field));
  return state;
}

Fp8Set without_slots(const Fp8PolicySpec& policy) {
  Fp8Set set{};
  set.policy = &policy;
  set.parameters = default_parameters(policy);
  return set;
}

Fp8Set start_fp8_from(const ScalerState& state) {
  const Fp8PolicySpec* spec = find_fp8_policy(state.policy);
  if (spec == nullptr) {
    throw Error(Status::unsupported, fmt::format("policy \"{}\" is none of FP8", escaped(state.policy)),
                "tare_fp8_policies lists those that there are.");
  }
  Fp8Set set = without_slots(*spec);
  guess_sizes(set, state);
  take_params(set, state);
  start_fresh(set);
  take_fields(set, state);
  return set;
}

Fp8Set some_of(const Fp8Set& set, const std::vector<std::size_t>& slots) {
  Fp8Set some{};
  some.policy = set.policy;
  some.parameters = set.parameters;
  const auto take = [&]<class Item>(std::vector<Item> Fp8Set::*array, std::size_t length) {
    if ((set.*array).empty()) return;
    for (const std::size_t slot : slots) {
      const auto row = (set.*array).begin() + static_cast<std::ptrdiff_t>(slot * length);
      (some.*array).insert((some.*array).end(), row, row + static_cast<std::ptrdiff_t>(length));
    }
  };
  take(&Fp8Set::names, 1);
  take(&Fp8Set::formats, 1);
  take(&Fp8Set::scale, 1);
  take(&Fp8Set::mu, 1);
  take(&Fp8Set::history, static_cast<std::size_t>(set.parameters.history_length));
  take(&Fp8Set::counter, 1);
  take(&Fp8Set::amax, 1);
  take(&Fp8Set::seen, 1);
  take(&Fp8Set::at_largest, 1);
  return some;
}

void load_into(Fp8Set& set, const ScalerState& state) {
  if (state.policy != set.policy->name) {
    refuse(fmt::format("a state of policy \"{}\" does not go into slots of policy \"{}\"", escaped(state.policy),
                       set.policy->name));
  }
  Fp8Set loaded = set;
  take_params(loaded, state);
  if (loaded.count() != set.count() || loaded.parameters.history_length != set.parameters.history_length) {
    throw Error(Status::mismatch,
                fmt::format("the state has {} slots with a history of {}, these are {} with {}", loaded.count(),
                            loaded.parameters.history_length, set.count(), set.parameters.history_length),
                "Make slots from the state instead (tare_fp8_create_from_state).");
  }
  start_fresh(loaded);
  take_fields(loaded, state);
  set = std::move(loaded);
}

}  // namespace tare
