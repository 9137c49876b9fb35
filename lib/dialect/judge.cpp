// What is plainly sick about a state, whatever made it so.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "lib/base/text.hpp"
#include "lib/dialect/found.hpp"
#include "lib/dialect/judge_next.hpp"
#include "lib/dialect/policy.hpp"

namespace tare {
namespace {

struct Symptom {
  const char* code;
  std::string message;
};

std::optional<Symptom> of_scale(double scale) {
  const std::string text = float_text(scale);
  if (!std::isfinite(scale)) return Symptom{"scale-not-finite", fmt::format("scale is {}: every step overflows", text)};
  if (scale == 0) return Symptom{"scale-zero", "scale is 0: no gradient survives it, and it can never grow again"};
  if (scale < 0) return Symptom{"scale-negative", fmt::format("scale is {}: gradients change their sign", text)};
  if (scale > static_cast<double>(std::numeric_limits<float>::max())) {
    return Symptom{"scale-beyond-float32", fmt::format("scale {} is infinite as a float32", text)};
  }
  return std::nullopt;
}

std::optional<Symptom> of_static(const FoundScaler& scaler, double scale) {
  const ConfiguredValue* anew = static_scale(scaler);
  if (anew == nullptr || anew->value.as_double() == scale) return std::nullopt;
  return Symptom{"scale-set-anew", fmt::format("scale {} lasts one step: the configuration ({}) sets it to {} after "
                                               "each; change it there",
                                               float_text(scale), anew->from, float_text(anew->value.as_double()))};
}

std::optional<Symptom> of_smallness(const FoundScaler& scaler, double scale) {
  if (scale >= 1) return std::nullopt;
  const char* way = is_static(scaler) ? "" : ", the run has overflowed for long";
  return Symptom{"scale-below-one",
                 fmt::format("scale {} is below 1: gradients are made smaller{}", float_text(scale), way)};
}

std::optional<Symptom> of_bounds(const FoundScaler& scaler, double scale) {
  const auto bound = [&](Role role) {
    const Value* value = scaler.known(role);
    return value == nullptr ? std::nullopt : std::optional(value->as_double());
  };
  const auto least = bound(Role::min_scale);
  const auto greatest = bound(Role::max_scale);
  if (least && scale < *least) {
    return Symptom{"scale-below-minimum",
                   fmt::format("scale {} is below the minimum {}, to which the next back-off raises it",
                               float_text(scale), float_text(*least))};
  }
  if (greatest && scale > *greatest) {
    return Symptom{"scale-above-maximum",
                   fmt::format("scale {} is above the maximum {}, to which the next growth lowers it",
                               float_text(scale), float_text(*greatest))};
  }
  return std::nullopt;
}

/// Whose factors are powers of two: every product of them is exact.
std::optional<Symptom> of_power(const FoundScaler& scaler, double scale) {
  int exponent = 0;
  if (!scaler.dialect->grows_by_two || std::frexp(scale, &exponent) == 0.5) return std::nullopt;
  return Symptom{"scale-not-power-of-two",
                 fmt::format("scale {} is no power of two, and {} only doubles and halves: gradients are rounded",
                             float_text(scale), scaler.dialect->framework)};
}

/// As the file has it: an int without a point.
std::string number_text(const Value& value) {
  const auto* integer = std::get_if<Integer>(&value.number()->data);
  return integer == nullptr ? float_text(value.as_double()) : integer->text();
}

std::optional<Symptom> of_tracker(const FoundScaler& scaler, const Field& tracker) {
  const Value* interval = scaler.known(Role::growth_interval);
  if (scaler.dialect->growth != Growth::when_equal || interval == nullptr) return std::nullopt;
  if (!(tracker.value.as_double() >= interval->as_double())) return std::nullopt;
  return Symptom{"tracker-past-interval",
                 fmt::format("growth tracker {} has reached the interval {}: {} compares with ==, so the scale cannot "
                             "grow before the next overflow",
                             number_text(tracker.value), number_text(*interval), scaler.dialect->framework)};
}

std::optional<Symptom> of_interval(const Field& interval) {
  if (interval.value.as_double() >= 1) return std::nullopt;
  return Symptom{"interval-not-positive", fmt::format("growth interval {} is below 1", number_text(interval.value))};
}

std::optional<Symptom> of_growth_factor(double factor) {
  if (factor > 1 && std::isfinite(factor)) return std::nullopt;
  return Symptom{"growth-factor-too-small", fmt::format("growth factor {} does not grow", float_text(factor))};
}

std::optional<Symptom> of_backoff_factor(double factor) {
  if (factor > 0 && factor < 1) return std::nullopt;
  return Symptom{"backoff-factor-out-of-range", fmt::format("back-off factor {} is not in (0, 1)", float_text(factor))};
}

/// A flag that lacks what belongs to it, or is not what tells.
std::optional<Symptom> of_dynamic(const FoundScaler& scaler, const Field& dynamic) {
  if (const auto why = why_load_stops(scaler)) return Symptom{"dynamic-keys-missing", *why};
  const bool says_static = dynamic.value.as_double() == 0;
  if (!scaler.dialect->class_tells_dynamic || says_static == is_static(scaler)) return std::nullopt;
  return Symptom{"dynamic-without-effect",
                 fmt::format("{} is {}, and {} {} the scale all the same: its class tells, not this flag", dynamic.name,
                             !says_static, scaler.dialect->framework, says_static ? "moves" : "never moves")};
}

std::optional<Symptom> of_level(const FoundScaler& scaler) {
  const auto level = window_level(scaler);
  if (!level || level->is_in_list()) return std::nullopt;
  return Symptom{"window-not-in-list", sentence(*level)};
}

std::optional<Symptom> symptom(const FoundScaler& scaler, Role role, const Field& field) {
  const double value = field.value.as_double();
  switch (role) {
    case Role::scale: {
      auto sick = of_scale(value);
      if (!sick) sick = of_static(scaler, value);
      if (!sick) sick = of_bounds(scaler, value);
      if (!sick) sick = of_smallness(scaler, value);
      return sick ? sick : of_power(scaler, value);
    }
    case Role::growth_tracker:
      return of_tracker(scaler, field);
    case Role::growth_interval:
      return of_interval(field);
    case Role::growth_factor:
      return of_growth_factor(value);
    case Role::backoff_factor:
      return of_backoff_factor(value);
    case Role::dynamic:
      return of_dynamic(scaler, field);
    case Role::window_index:
      return of_level(scaler);
    default:
      return std::nullopt;
  }
}

/// Where a framework keeps one value twice.
std::optional<Symptom> of_twins(const FoundScaler& scaler, Role role, const Field& first) {
  for (const Field& other : scaler.fields) {
    if (other.role != role || same(other.value, first.value) || other.value.number() == nullptr) continue;
    return Symptom{"fields-disagree",
                   fmt::format("{} is {} in {} and {} in {}: an edit of {} sets both", name(role),
                               number_text(first.value), first.name, number_text(other.value), other.name, name(role))};
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_load_stops(const FoundScaler& scaler) {
  const Field* dynamic = scaler.find(Role::dynamic);
  if (dynamic == nullptr || dynamic->value.as_double() == 0) return std::nullopt;
  std::vector<std::string_view> missing;
  for (const std::string_view name : scaler.dialect->needed_when_dynamic) {
    if (scaler.find(name) == nullptr) missing.push_back(name);
  }
  if (missing.empty()) return std::nullopt;
  return fmt::format("{} is true, and {} stops when it loads that without {}", dynamic->name, scaler.dialect->framework,
                     fmt::join(missing, ", "));
}

std::vector<Finding> judge(const FoundScaler& scaler) {
  std::vector<Finding> findings;
  for (const RoleFacts& role : roles()) {
    const Field* field = scaler.find(role.role);
    if (field == nullptr) continue;
    for (const auto& found : {symptom(scaler, role.role, *field), of_twins(scaler, role.role, *field)}) {
      if (found) findings.push_back({Severity::warning, found->code, found->message, "", scaler.path});
    }
  }
  for (Finding& finding : judge_next(scaler)) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace tare
