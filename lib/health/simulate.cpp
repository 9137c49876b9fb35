#include "lib/health/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/base/whole_number.hpp"
#include "lib/state/policy_value.hpp"
#include "lib/state/role.hpp"
#include "lib/state/window_level.hpp"

namespace tare {
namespace {

/// Puts a parameter in, by name or role.
void tell(SimulatedSetting& setting, const rule::PolicySpec& spec, std::string_view key, double value) {
  const rule::ParameterSpec* parameter = parameter_for(spec, key);
  if (parameter == nullptr) {
    throw Error(Status::invalid_argument, fmt::format("{} has no {}", full_name(spec), key),
                fmt::format("its parameters: {}", parameter_names(spec)));
  }
  assign(setting.start.policy.params, *parameter, converted(*parameter, value, parameter->name), parameter->name);
  setting.told.emplace_back(parameter->name, value);
}

/// A floor that the policy has itself, or else tare's own beside it.
void tell_floor(SimulatedSetting& setting, const rule::PolicySpec& spec, double floor) {
  if (parameter_for(spec, "min_scale") != nullptr) return tell(setting, spec, "min_scale", floor);
  setting.start.policy.bounds.floor = floor;
  setting.told.emplace_back(floor_key, floor);
}

/// A window of a policy with levels that the list lacks: its framework would start at the first level without a word.
void require_level_of(const SimulatedSetting& setting, const rule::PolicySpec& spec) {
  const rule::ParameterSpec* window = parameter_for(spec, "scale_window");
  const std::optional<WindowLevel> level = window_level(setting.start);
  if (window == nullptr || !level) return;
  for (const auto& [name, value] : setting.told) {
    const auto whole = whole_number(value);
    if (name != window->name || (whole && std::ranges::count(level->windows, *whole) != 0)) continue;
    throw Error(Status::invalid_argument,
                fmt::format("{}: window {} is not in the list of windows: {}", full_name(spec), value, level->list()),
                "max_scale_window and min_scale_window make another list");
  }
}

/// Whether the setting says itself which scale it begins with, or keeps.
bool tells_scale(const SimulatedSetting& setting, const rule::PolicySpec& spec) {
  return std::ranges::any_of(setting.told, [&](const auto& told) {
    const rule::ParameterSpec* parameter = parameter_for(spec, told.first);
    if (parameter == nullptr) return false;
    const bool is_scale = parameter->role == name(Role::initial_scale) || parameter->role == name(Role::scale);
    return is_scale || parameter->unset == "dynamic";  // apex: a number instead of the word is the scale
  });
}

void start(SimulatedSetting& setting, const rule::PolicySpec& spec, std::optional<double> scale) {
  rule::prepare(setting.start.policy);
  const std::string fault = rule::find_fault(spec, setting.start.policy.params);
  if (!fault.empty()) throw Error(Status::invalid_argument, fmt::format("{}: {}", full_name(spec), fault));
  setting.start.state = rule::bounded(setting.start.policy, rule::initial_state(setting.start.policy));
  require_level_of(setting, spec);
  if (!scale) return;
  const auto placed = rule::with_scale(setting.start.policy, setting.start.state, *scale);
  if (placed.raised != rule::Raised::nothing) {
    throw Error(Status::invalid_argument,
                fmt::format("{} cannot hold a scale of {}", full_name(spec), float_text(*scale)));
  }
  setting.start.state = rule::bounded(setting.start.policy, placed.state);
}

std::vector<std::optional<double>> choices(const std::vector<double>& values) {
  if (values.empty()) return {std::nullopt};
  return {values.begin(), values.end()};
}

Between mean_of(const WayThere& way) {
  const std::array<double, 4> corners = {way.log2_sum.least / way.steps.least, way.log2_sum.least / way.steps.most,
                                         way.log2_sum.most / way.steps.least, way.log2_sum.most / way.steps.most};
  const auto [least, most] = std::minmax_element(corners.begin(), corners.end());
  return {*least, *most};
}

/// What goes on behind the last step that could be followed: anything that no scale rules out.
void widen(Simulated& result, const ObservedSteps& rest) {
  const auto steps = static_cast<double>(rest.steps);
  result.skipped.most += steps;
  if (rest.is_incurable) result.skipped.least += steps;
  result.below.most += steps;
  result.dies_possibly = true;
}

void include(Simulated& result, const WayThere& way, bool is_first) {
  if (is_first) {
    result.skipped = way.skipped;
    result.below = way.below;
    result.mean_log2 = way.steps.least > 0 ? mean_of(way) : Between{};
    return;
  }
  result.skipped.include(way.skipped);
  result.below.include(way.below);
  if (way.steps.least > 0) result.mean_log2.include(mean_of(way));
}

Simulated summed(const ScalerSet& set) {
  Simulated result;
  bool is_first = true;
  for (const PossibleState& possible : set.states()) {
    include(result, possible.way, is_first);
    is_first = false;
  }
  for (const WayThere& way : set.dead()) {
    include(result, way, is_first);
    is_first = false;
  }
  result.dies_possibly = !set.dead().empty();
  result.dies_surely = set.states().empty();
  result.first_death = set.first_death();
  return result;
}

}  // namespace

std::vector<SimulatedSetting> settings_of(const Sweep& sweep, std::optional<double> first_scale) {
  const rule::PolicySpec& spec = require_policy(sweep.policy, sweep.variant);
  if (spec.driver != rule::Driver::overflow) {
    throw Error(Status::invalid_argument,
                fmt::format("{} goes by statistics of gradients, which no trace tells", full_name(spec)));
  }
  std::vector<SimulatedSetting> settings;
  for (const auto& window : choices(sweep.windows)) {
    for (const auto& hysteresis : choices(sweep.hysteresis)) {
      for (const auto& floor : choices(sweep.floors)) {
        for (const auto& initial : choices(sweep.initial_scales)) {
          SimulatedSetting setting{{rule::make_policy(spec), {}, {}}, {}};
          for (const auto& [key, value] : sweep.parameters) tell(setting, spec, key, number_of(value, key));
          if (window) tell(setting, spec, "growth_interval", *window);
          if (hysteresis) tell(setting, spec, "hysteresis", *hysteresis);
          if (floor) tell_floor(setting, spec, *floor);
          const bool is_given = !initial && tells_scale(setting, spec);
          if (initial) setting.told.emplace_back("initial_scale", *initial);
          start(setting, spec, initial || is_given ? initial : first_scale);
          settings.push_back(std::move(setting));
        }
      }
    }
  }
  return settings;
}

void include(Simulated& result, const Simulated& other) {
  result.skipped.include(other.skipped);
  result.below.include(other.below);
  result.mean_log2.include(other.mean_log2);
  result.bounded_until = std::min(result.bounded_until, other.bounded_until);
  result.dies_possibly = result.dies_possibly || other.dies_possibly || result.dies_surely || other.dies_surely;
  result.dies_surely = result.dies_surely && other.dies_surely;
  if (other.first_death) {
    result.first_death = std::min(result.first_death.value_or(*other.first_death), *other.first_death);
  }
}

Simulated simulate(const ObservedRun& run, const rule::RunningState& start, const SimulateOptions& options) {
  ScalerSet set(start, options.below);
  std::uint64_t work = 0;
  std::uint64_t done = 0;
  std::size_t at = 0;
  std::uint64_t of_it = 0;  // steps of run.steps[at] that are done
  bool is_bounded = true;
  for (; at < run.steps.size() && is_bounded && !set.states().empty(); of_it = 0, ++at) {
    const ObservedSteps& known = run.steps[at];
    const auto may_at = [&](const PossibleState& possible) {
      const double scale = rule::gradient_scale_of(set.policy().id, possible.state);
      if (known.is_incurable || scale >= known.overflow_from) return May::overflow;
      return scale <= known.clean_to ? May::be_clean : May::be_either;
    };
    for (; of_it < known.steps && !set.states().empty(); ++of_it, ++done) {
      work += set.states().size();
      is_bounded = work <= options.most_work && set.step(may_at, options.most_states);
      if (!is_bounded) break;
    }
    if (!is_bounded) break;
  }
  Simulated result = summed(set);
  result.steps = run.count;
  result.bounded_until = is_bounded ? run.count : done;
  for (; !is_bounded && at < run.steps.size(); of_it = 0, ++at) {
    ObservedSteps rest = run.steps[at];
    rest.steps -= of_it;
    widen(result, rest);
  }
  return result;
}

}  // namespace tare
