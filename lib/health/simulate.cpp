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

void start(SimulatedSetting& setting, const rule::PolicySpec& spec, const std::vector<double>& scales) {
  rule::Policy& policy = setting.start.policy;
  rule::prepare(policy);
  const std::string fault = rule::find_fault(spec, policy.params);
  if (!fault.empty()) throw Error(Status::invalid_argument, fmt::format("{}: {}", full_name(spec), fault));
  const rule::RuleState fresh = rule::bounded(policy, rule::initial_state(policy));
  setting.start.state = fresh;
  require_level_of(setting, spec);
  std::vector<rule::RuleState> states;
  for (const double scale : scales) {
    const auto placed = rule::with_scale(policy, fresh, scale);
    if (placed.raised == rule::Raised::nothing) states.push_back(rule::bounded(policy, placed.state));
  }
  if (scales.empty()) return;
  if (states.empty()) {
    throw Error(Status::invalid_argument,
                fmt::format("{} cannot hold a scale of {}", full_name(spec), float_text(scales.front())));
  }
  setting.start.state = states.front();
  setting.also.assign(states.begin() + 1, states.end());
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

std::vector<SimulatedSetting> settings_of(const Sweep& sweep, const std::vector<double>& first_scales) {
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
          std::vector<double> scales = tells_scale(setting, spec) ? std::vector<double>() : first_scales;
          if (initial) {
            setting.told.emplace_back("initial_scale", *initial);
            scales = {*initial};
          }
          start(setting, spec, scales);
          settings.push_back(std::move(setting));
        }
      }
    }
  }
  return settings;
}

Simulated simulate(const ObservedRun& run, const SimulatedSetting& setting, const SimulateOptions& options) {
  ScalerSet set(setting.start, options.below);
  for (const rule::RuleState& state : setting.also) set.start_also(state);
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
