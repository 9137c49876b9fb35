// How far it is to the next growth. Each rule is that of the frameworks named in dialect.hpp's Growth; a clean step is
// counted before it is compared, as they all do.
#include <fmt/format.h>

#include <algorithm>

#include "lib/base/text.hpp"
#include "lib/base/whole_number.hpp"
#include "lib/dialect/found.hpp"

namespace tare {
namespace {

std::optional<std::int64_t> counter(const FoundScaler& scaler, Role role) {
  const Value* known = scaler.known(role);
  if (known == nullptr) return std::nullopt;
  return whole_number(known->as_double());
}

std::string counted_text(const FoundScaler& scaler, std::int64_t steps) {
  return fmt::format("{} clean step{} counted; {}", steps, steps == 1 ? "" : "s",
                     how_it_is_set(*scaler.dialect, Role::growth_interval));
}

std::string steps_text(std::int64_t steps) {
  return steps == 1 ? "the next clean step grows" : fmt::format("next growth after {} clean steps", steps);
}

GrowthOutlook by_tracker(const FoundScaler& scaler) {
  const auto tracker = counter(scaler, Role::growth_tracker);
  const auto interval = counter(scaler, Role::growth_interval);
  if (!tracker) return {};
  if (!interval) {
    if (scaler.known(Role::growth_interval) != nullptr) return {};
    return {{}, counted_text(scaler, *tracker)};
  }
  if (scaler.dialect->growth == Growth::when_at_least) {
    const std::int64_t steps = std::max<std::int64_t>(*interval - *tracker, 1);
    return {steps, steps_text(steps)};
  }
  if (*tracker < *interval) return {*interval - *tracker, steps_text(*interval - *tracker)};
  return {{}, fmt::format("no growth until an overflow: {} has been passed", *interval)};
}

/// Clean steps until (step - last overflow - offset) is a multiple of the interval and at least `offset`.
std::int64_t until_multiple(std::int64_t distance, std::int64_t interval, std::int64_t offset) {
  std::int64_t ahead = (interval - (distance - offset) % interval) % interval;
  if (ahead < 0) ahead += interval;
  while (ahead >= interval) ahead -= interval;
  while (distance + ahead - offset < offset) ahead += interval;
  return ahead + 1;
}

GrowthOutlook by_reaching(const FoundScaler& scaler) {
  const auto step = counter(scaler, Role::step);
  const auto last = counter(scaler, Role::last_overflow_step);
  const auto interval = counter(scaler, Role::growth_interval);
  if (!step || !last) return {};
  const std::int64_t distance = *step - *last;
  if (!interval) return {{}, counted_text(scaler, distance - 1)};
  const std::int64_t steps = std::max<std::int64_t>(*interval - distance, 0) + 1;
  return {steps, steps_text(steps)};
}

GrowthOutlook by_steps(const FoundScaler& scaler) {
  const auto step = counter(scaler, Role::step);
  const auto last = counter(scaler, Role::last_overflow_step);
  const auto interval = counter(scaler, Role::growth_interval);
  if (!step || !last || !interval || *interval < 1) return {};
  const std::int64_t plain = until_multiple(*step - *last, *interval, 0);
  const std::int64_t later = until_multiple(*step - *last, *interval, 1);
  const std::string_view last_plain = scaler.dialect->plain_modulo_until;
  const bool is_same_in_all = scaler.dialect->growth != Growth::modulo_either;
  switch (scaler.growth_of_release.value_or(scaler.dialect->growth)) {
    case Growth::modulo:
      return {plain, is_same_in_all ? steps_text(plain)
                                    : fmt::format("{} ({} after {})", steps_text(plain), later, last_plain)};
    case Growth::modulo_after_one:
      return {later, steps_text(later)};
    default:
      return {later, fmt::format("{} ({} up to {})", steps_text(later), plain, last_plain)};
  }
}

}  // namespace

const ConfiguredValue* static_scale(const FoundScaler& scaler) {
  const auto found = std::ranges::find(scaler.configuration, static_scale_key, &ConfiguredValue::key);
  return found == scaler.configuration.end() ? nullptr : &*found;
}

bool is_static(const FoundScaler& scaler) {
  if (static_scale(scaler) != nullptr) return true;
  for (const Field& field : scaler.fields) {  // a word, as mmcv has it
    const auto* word = std::get_if<std::string>(&field.value.data);
    if (field.role == Role::dynamic && word != nullptr && *word == "static") return true;
  }
  if (scaler.dialect->class_tells_dynamic) return scaler.find(Role::step) == nullptr;
  const Field* dynamic = scaler.find(Role::dynamic);
  return dynamic != nullptr && dynamic->value.as_double() == 0;
}

GrowthOutlook growth_outlook(const FoundScaler& scaler) {
  if (const ConfiguredValue* anew = static_scale(scaler)) {
    return {{},
            fmt::format("static: set to {} after each step, as the configuration says: change it there",
                        float_text(anew->value.as_double()))};
  }
  if (is_static(scaler)) return {{}, "static: the scale does not move"};
  switch (scaler.dialect->growth) {
    case Growth::when_equal:
    case Growth::when_at_least:
      return by_tracker(scaler);
    case Growth::modulo:
    case Growth::modulo_after_one:
    case Growth::modulo_either:
      return by_steps(scaler);
    case Growth::when_reached:
      return by_reaching(scaler);
    case Growth::not_stored:
      break;
  }
  return {};
}

std::optional<std::string> grows_otherwise(const FoundScaler& scaler) {
  const bool is_as_here = scaler.growth_of_release == Growth::modulo_after_one;
  if (scaler.dialect->growth != Growth::modulo_either || is_as_here) return std::nullopt;
  if (is_static(scaler) || scaler.find(Role::last_overflow_step) == nullptr) return std::nullopt;
  const std::string_view last = scaler.dialect->plain_modulo_until;
  const std::string who = scaler.growth_of_release
                              ? fmt::format("saved by {} or an older release, where", last)
                              : fmt::format("nothing tells which release saved it, and up to {}", last);
  return who + " the first growth after the start or an overflow comes one clean step earlier than is told here";
}

}  // namespace tare
