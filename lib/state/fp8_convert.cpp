#include "lib/state/fp8_convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/base/error.hpp"
#include "lib/base/no_rule.hpp"
#include "lib/base/text.hpp"
#include "lib/state/fp8_set.hpp"

namespace tare {
namespace {

using kernels::fp8::Layout;
using kernels::fp8::Rule;

/// Whether the framework's index 0 is the amax of the running step.
bool has_running(const Fp8PolicySpec& spec) {
  return kernels::fp8::WindowShape{spec.layout, 1}.in_progress();
}

/// How many of a history's entries are of finished steps.
std::size_t finished(const Fp8PolicySpec& spec, std::size_t length) {
  return has_running(spec) ? length - 1 : length;
}

/// The framework's index of the finished entry that is `age` steps old, 0 being the newest: see kernels/fp8/window.hpp.
std::size_t index_of_age(const Fp8PolicySpec& spec, std::size_t length, std::size_t age) {
  if (spec.layout == Layout::transformer_engine) return length - 1 - age;
  if (spec.layout == Layout::msamp) return 1 + age;
  if (spec.layout == Layout::torchao) return age;
  return age == 0 ? 0 : length - age;
}

std::size_t length_of(const Fp8Set& set) {
  return static_cast<std::size_t>(set.parameters.history_length);
}

bool has_history(const Fp8PolicySpec& spec) {
  return has(spec, Fp8Array::history);
}

std::string field_key(const Fp8PolicySpec& spec, std::initializer_list<Fp8Array> arrays) {
  for (const Fp8FieldSpec& field : spec.fields) {
    if (std::ranges::find(arrays, field.array) != arrays.end()) return "fields." + std::string(field.name);
  }
  return {};
}

const Fp8PolicySpec& require_of_tensors(std::string_view policy) {
  const Fp8PolicySpec& spec = require_fp8_policy(policy);
  if (spec.rule != Rule::fp8_lm) return spec;
  throw NoRule("policy \"fp8_lm\" keeps a factor of its gradients (mu), and no tensor's scale",
               "Start its slots anew: tare_fp8_create.");
}

class Fp8Converter {
 public:
  Fp8Converter(const ScalerState& source, std::string_view policy, const StateSection& given,
               const StateSection& existing)
      : from_(start_fp8_from(source)),
        to_(without_slots(require_of_tensors(policy))),
        given_(given),
        existing_(existing) {
    require_of_tensors(from_.policy->name);
    for (const auto& [key, value] : given) {
      if (find_parameter(*to_.policy, key) != nullptr) continue;
      throw Error(Status::invalid_argument, fmt::format("policy \"{}\" has no \"{}\"", to_.policy->name, escaped(key)),
                  "Parameters: " + parameter_names(*to_.policy));
    }
  }

  Conversion run() {
    to_.names = from_.names;
    to_.formats = from_.formats;
    note(Outcome::carried, "params.slots", "params.slots", "");
    note(Outcome::carried, "params.format", "params.format", "");
    for (const Fp8ParameterSpec& parameter : to_.policy->parameters) set(parameter);
    start_fresh(to_);
    set_scales();
    set_histories();
    set_counters();
    set_initialised();
    list_lost();
    result_.state = to_state(to_);
    result_.resumed = result_.state;
    return std::move(result_);
  }

 private:
  void note(Outcome outcome, std::string key, std::string source_key, std::string why) {
    ConvertedValue value;
    value.outcome = outcome;
    value.key = std::move(key);
    value.source_key = std::move(source_key);
    value.why = std::move(why);
    result_.values.push_back(std::move(value));
  }

  /// The other framework's parameter that means the same; null where it has none. (Each has variants of its own.)
  static const Fp8ParameterSpec* twin_of(const Fp8ParameterSpec& parameter, const Fp8PolicySpec& other) {
    const auto found = std::ranges::find_if(other.parameters, [&](const Fp8ParameterSpec& one) {
      return one.member == parameter.member && one.words.data() == parameter.words.data();
    });
    return found == other.parameters.end() ? nullptr : &*found;
  }

  void set(const Fp8ParameterSpec& parameter) {
    const std::string key = fmt::format("params.{}", parameter.name);
    const Fp8ParameterSpec* twin = twin_of(parameter, *from_.policy);
    const StateValue* given = given_.find(parameter.name);
    if (given == nullptr && !parameter.role.empty()) given = given_.find(parameter.role);
    if (given != nullptr) {
      take(parameter.name, *given);
      note(Outcome::given, key, twin == nullptr ? "" : fmt::format("params.{}", twin->name), "");
    } else if (const StateValue* there = existing_.find(parameter.name)) {
      take(parameter.name, *there);
      note(Outcome::kept, key, twin == nullptr ? "" : fmt::format("params.{}", twin->name), "");
    } else if (twin == nullptr) {
      note(Outcome::defaulted, key, {}, fmt::format("the default of {}", to_.policy->framework));
    } else {
      std::visit([&](auto member) { to_.parameters.*member = from_.parameters.*member; }, parameter.member);
      note(Outcome::carried, key, fmt::format("params.{}", twin->name), "");
    }
    ConvertedValue& noted = result_.values.back();
    noted.after = parameter_value(to_.parameters, parameter);
    if (twin != nullptr) noted.before = parameter_value(from_.parameters, *twin);
  }

  void take(std::string_view name, const StateValue& value) {
    try {
      assign(to_, name, value);
    } catch (const Error& error) {
      throw Error(Status::invalid_argument, error.what(), error.hint);
    }
  }

  void set_scales() {
    const bool turns = kernels::fp8::divides(from_.policy->rule) != kernels::fp8::divides(to_.policy->rule);
    const bool is_power = to_.policy->rule == Rule::msamp;
    bool is_rounded = false;
    for (std::size_t i = 0; i < to_.count(); ++i) {
      const float scale = from_.scale[i];
      float& next = to_.scale[i];
      next = turns && scale != 0 && std::isfinite(scale) ? 1.0f / scale : scale;
      if (!is_power || !(next > 0) || !std::isfinite(next)) continue;
      const float power = std::exp2(std::floor(std::log2(next)));
      is_rounded = is_rounded || power != next;
      next = power;
    }
    std::string why = turns ? "1 / scale: one of the two multiplies, the other divides" : "";
    if (is_rounded) why += std::string(why.empty() ? "" : "; ") + "the power of two below, as MS-AMP's scales are";
    note(why.empty() ? Outcome::carried : Outcome::converted, field_key(*to_.policy, {Fp8Array::scale}),
         field_key(*from_.policy, {Fp8Array::scale}), why);
  }

  void set_histories() {
    const std::string from = field_key(*from_.policy, {Fp8Array::history});
    const std::string to = field_key(*to_.policy, {Fp8Array::history});
    if (from.empty() && to.empty()) return;
    if (to.empty()) return note(Outcome::lost, from, from, "this rule looks back at no step");
    if (from.empty()) return note(Outcome::defaulted, to, {}, "there is no history: zeros");
    const std::size_t there = finished(*from_.policy, length_of(from_));
    const std::size_t room = finished(*to_.policy, length_of(to_));
    for (std::size_t slot = 0; slot < to_.count(); ++slot) move_history(slot, std::min(there, room));
    note(from_.policy->layout == to_.policy->layout ? Outcome::carried : Outcome::converted, to, from,
         from_.policy->layout == to_.policy->layout ? "" : "the same amaxes, in the order of this framework");
    if (there <= room) return;
    const std::size_t left = there - room;
    note(Outcome::lost, from, from,
         length_of(from_) == length_of(to_)
             ? "the oldest entry: this history has one of the running step"
             : fmt::format("the {} oldest entries of each: this history has room for {}", left, room));
  }

  void move_history(std::size_t slot, std::size_t count) {
    const std::size_t length = length_of(from_);
    const std::size_t other = length_of(to_);
    const float* from = from_.history.data() + slot * length;
    float* to = to_.history.data() + slot * other;
    for (std::size_t age = 0; age < count; ++age) {
      to[index_of_age(*to_.policy, other, age)] = from[index_of_age(*from_.policy, length, age)];
    }
    const float running = has_running(*from_.policy) ? from[0] : from_.amax[slot];
    (has_running(*to_.policy) ? to[0] : to_.amax[slot]) = running;
  }

  /// MS-AMP takes scales from the tensors themselves until its counter has reached the window.
  void set_counters() {
    const std::string to = field_key(*to_.policy, {Fp8Array::counter});
    if (to.empty()) return;
    const std::string from = field_key(*from_.policy, {Fp8Array::counter});
    if (!from.empty()) {
      to_.counter = from_.counter;
      return note(Outcome::carried, to, from, "");
    }
    const std::size_t length = length_of(to_);
    for (std::size_t slot = 0; slot < to_.count(); ++slot) {
      const auto entries = std::span(to_.history).subspan(slot * length, length);
      to_.counter[slot] = std::ranges::count_if(entries, [](float amax) { return amax != 0; });
    }
    note(Outcome::converted, to, field_key(*from_.policy, {Fp8Array::history}), "the steps that the history knows of");
  }

  /// Of a process, not of a checkpoint.
  void set_initialised() {
    const std::string to = field_key(*to_.policy, {Fp8Array::initialised});
    const std::string from = field_key(*from_.policy, {Fp8Array::initialised});
    if (!to.empty() && !from.empty()) {
      to_.counter = from_.counter;
      note(Outcome::carried, to, from, "");
    } else if (!to.empty()) {
      note(Outcome::defaulted, to, {}, "0: the first amax becomes the newest entry, as in every process of torchao's");
    } else if (!from.empty()) {
      note(Outcome::implied, from, from, "this rule starts no history anew");
    }
  }

  void list_lost() {
    for (const Fp8ParameterSpec& parameter : from_.policy->parameters) {
      if (twin_of(parameter, *to_.policy) != nullptr) continue;
      const std::string key = fmt::format("params.{}", parameter.name);
      note(Outcome::lost, key, key, fmt::format("{} has none", to_.policy->framework));
      result_.values.back().before = parameter_value(from_.parameters, parameter);
    }
    const std::string counter = field_key(*from_.policy, {Fp8Array::counter});
    if (!counter.empty() && field_key(*to_.policy, {Fp8Array::counter}).empty()) {
      note(Outcome::lost, counter, counter, fmt::format("{} counts no steps", to_.policy->framework));
    }
    const bool is_flax = to_.policy->layout == Layout::flax && has_history(*to_.policy);
    if (is_flax && from_.policy->layout != Layout::flax) {
      result_.warnings.emplace_back(
          "this rule makes a scale before it sees the step's amax: its scales come a step later");
    }
    if (from_.parameters.algorithm != 0 && to_.policy->rule != Rule::transformer_engine && has_history(*to_.policy)) {
      result_.warnings.emplace_back(
          "the source looks at the newest amax alone, this rule at the greatest of its history");
    }
    if (to_.policy->rule == Rule::torchao_delayed && from_.policy != to_.policy) {
      result_.warnings.emplace_back(
          "torchao's history never shifts: what is in it now counts for ever, the newest entry alone is replaced, by "
          "the "
          "first amax of the process that goes on");
    }
    if (to_.policy->rule == Rule::fixed) {
      result_.warnings.emplace_back("frozen: what grows beyond these scales from now on is cut off");
    }
  }

  Fp8Set from_;
  Fp8Set to_;
  const StateSection& given_;
  const StateSection& existing_;
  Conversion result_;
};

}  // namespace

Conversion convert_fp8(const ScalerState& source, std::string_view policy, const StateSection& given,
                       const StateSection& existing) {
  return Fp8Converter(source, policy, given, existing).run();
}

}  // namespace tare
