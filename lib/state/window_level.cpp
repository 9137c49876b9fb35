#include "lib/state/window_level.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "lib/base/error.hpp"
#include "lib/state/policy_state.hpp"
#include "lib/state/policy_value.hpp"
#include "lib/state/role.hpp"

namespace tare {
namespace {

constexpr std::string_view greatest_window = "max_scale_window";
constexpr std::string_view smallest_window = "min_scale_window";
constexpr std::int64_t growths_to_climb = 3;

/// What of a policy with levels is spoken of here.
struct LevelSpec {
  const rule::ParameterSpec* list;
  const rule::FieldSpec *window, *index, *up_count;
};

const rule::FieldSpec* field_of_role(const rule::PolicySpec& spec, Role role) {
  const auto* field = rule::find_field(spec, name(role));
  return field != nullptr && field->role == name(role) ? field : nullptr;
}

std::optional<LevelSpec> level_spec(const rule::PolicySpec& spec) {
  const auto* list = rule::find_parameter(spec, name(Role::window_list));
  if (list == nullptr) return std::nullopt;
  return LevelSpec{list, field_of_role(spec, Role::growth_interval), field_of_role(spec, Role::window_index),
                   field_of_role(spec, Role::window_up_count)};
}

std::int64_t integer_in(const RunningState& running, const rule::FieldSpec& field) {
  return integer_of(value_of(running.state, field), field.name);
}

void put(RunningState& running, const rule::FieldSpec& field, std::int64_t value) {
  assign(running.state, field, StateValue(value), field.name);
}

[[noreturn]] void refuse(const WindowLevel& level, const std::string& what) {
  throw Error(Status::mismatch, fmt::format("{} is not in the list of windows: {}", what, level.list()),
              "max_scale_window and min_scale_window make another list");
}

/// To the level with the window, or else with the nearest.
void land(RunningState& running, const LevelSpec& spec) {
  const WindowLevel level = *window_level(running);
  if (level.is_hidden()) return;
  const auto nearest =
      std::ranges::min_element(level.windows, {}, [&](std::int64_t window) { return std::abs(window - level.window); });
  put(running, *spec.window, *nearest);
  put(running, *spec.index, nearest - level.windows.begin());
}

bool is_given(std::span<const std::string_view> given, std::string_view name) {
  return std::ranges::find(given, name) != given.end();
}

/// A list that its ends make anew.
void renew_list(RunningState& running, const LevelSpec& spec) {
  spec.list->list(running.policy.params) = {};
  const std::string fault = rule::find_fault(rule::spec_of(running.policy.id), running.policy.params);
  if (!fault.empty()) throw Error(Status::mismatch, fault);
  rule::prepare(running.policy);
}

}  // namespace

bool WindowLevel::is_in_list() const {
  if (is_hidden()) return index == rule::hidden_level && window == rule::hidden_window;
  return index < static_cast<std::int64_t>(windows.size()) && windows[static_cast<std::size_t>(index)] == window;
}

std::optional<std::int64_t> WindowLevel::next() const {
  const std::int64_t after = index + 1;
  if (after < 0 || after >= static_cast<std::int64_t>(windows.size())) return std::nullopt;
  return windows[static_cast<std::size_t>(after)];
}

std::string WindowLevel::list() const {
  return fmt::format("{}", fmt::join(windows, ", "));
}

std::string sentence(const WindowLevel& level) {
  const std::size_t count = level.windows.size();
  const std::string list = level.list() + (level.is_assumed ? ": the usual list, the file does not say" : "");
  if (!level.is_in_list()) {
    return fmt::format("window {} at level {} is not of the {} levels that are known ({}): the run has another list",
                       level.window, level.index + 1, count, list);
  }
  const std::string where = level.is_hidden()
                                ? fmt::format("window {} is the hidden one, below the {} levels", level.window, count)
                                : fmt::format("window {} is level {} of {}", level.window, level.index + 1, count);
  const auto next = level.next();
  if (!next) return fmt::format("{} ({}), the last", where, list);
  if (level.growths == 0) return fmt::format("{} ({}); from the next step on it is {}", where, list, *next);
  return fmt::format("{} ({}); after {} growth{} it is {}", where, list, level.growths, level.growths == 1 ? "" : "s",
                     *next);
}

std::optional<WindowLevel> window_level(const RunningState& running) {
  const auto spec = level_spec(rule::spec_of(running.policy.id));
  if (!spec) return std::nullopt;
  WindowLevel level;
  const StateValue list = value_of(running.policy.params, *spec->list);
  level.windows = std::get<std::vector<std::int64_t>>(std::get<StateArray>(list).values);
  level.index = integer_in(running, *spec->index);
  level.window = integer_in(running, *spec->window);
  const std::int64_t climbed = integer_in(running, *spec->up_count);
  if (level.next()) level.growths = std::clamp<std::int64_t>(growths_to_climb - climbed, 0, growths_to_climb);
  return level;
}

std::optional<WindowLevel> window_level(const ScalerState& state) {
  const rule::PolicySpec* spec = rule::find_policy(state.policy);
  if (spec == nullptr || !level_spec(*spec)) return std::nullopt;
  try {
    auto level = window_level(start_from(state));
    const auto says = [&](std::string_view name) { return state.params.find(name) != nullptr; };
    level->is_assumed = !says(name(Role::window_list)) && !says(greatest_window) && !says(smallest_window);
    return level;
  } catch (const Error& error) {
    if (error.status != Status::mismatch) throw;
    return std::nullopt;
  }
}

bool makes_list(const rule::PolicySpec& policy, std::string_view parameter) {
  return level_spec(policy) && (parameter == greatest_window || parameter == smallest_window);
}

std::int64_t index_of_window(const WindowLevel& level, std::int64_t window) {
  const auto found = std::ranges::find(level.windows, window);
  if (found != level.windows.end()) return found - level.windows.begin();
  if (window == rule::hidden_window) return rule::hidden_level;
  refuse(level, fmt::format("window {}", window));
}

std::int64_t window_at(const WindowLevel& level, std::int64_t index) {
  if (index == rule::hidden_level) return rule::hidden_window;
  if (index < 0 || index >= static_cast<std::int64_t>(level.windows.size())) {
    refuse(level, fmt::format("level {} (of {}, and {} for the hidden window 1)", index, level.windows.size(),
                              rule::hidden_level));
  }
  return level.windows[static_cast<std::size_t>(index)];
}

void give_levels(RunningState& running, std::span<const std::string_view> given) {
  const rule::PolicySpec& policy = rule::spec_of(running.policy.id);
  const auto spec = level_spec(policy);
  if (!spec) return;
  const bool has_ends = std::ranges::any_of(given, [&](std::string_view name) { return makes_list(policy, name); });
  const bool has_list = is_given(given, spec->list->name);
  if (has_ends && !has_list) renew_list(running, *spec);
  if (has_ends || has_list) land(running, *spec);
  const auto* start = rule::find_parameter(policy, name(Role::growth_interval));
  if (start == nullptr || !is_given(given, start->name)) return;
  const std::int64_t window = integer_of(value_of(running.policy.params, *start), start->name);
  put(running, *spec->index, index_of_window(*window_level(running), window));
  put(running, *spec->window, window);
}

bool has_levels(const ScalerState& state) {
  const rule::PolicySpec* policy = policy_of(state);
  return policy != nullptr && level_spec(*policy).has_value();
}

void require_level(const RunningState& running) {
  if (const auto level = window_level(running)) window_at(*level, level->index);
}

void complete_level(RunningState& running, const StateSection& fields) {
  const auto spec = level_spec(rule::spec_of(running.policy.id));
  if (!spec) return;
  const bool has_window = fields.find(spec->window->name) != nullptr;
  const bool has_index = fields.find(spec->index->name) != nullptr;
  if (has_window == has_index) return;
  const WindowLevel level = *window_level(running);
  if (has_window) {
    put(running, *spec->index, index_of_window(level, level.window));
  } else {
    put(running, *spec->window, window_at(level, level.index));
  }
}

void field_follows(ScalerState& state, std::string_view name) {
  const LevelSpec spec = *level_spec(*policy_of(state));
  if (name != spec.index->name && name != spec.window->name) return;
  const WindowLevel level = *window_level(start_from(state));
  if (name == spec.index->name) state.fields.set(spec.window->name, window_at(level, level.index));
  if (name == spec.window->name) state.fields.set(spec.index->name, index_of_window(level, level.window));
}

void parameter_follows(ScalerState& state, std::string_view name) {
  const auto spec = level_spec(*policy_of(state));
  if (!makes_list(*policy_of(state), name) && name != spec->list->name) return;
  const auto set_field = [&](const rule::FieldSpec& field, std::int64_t value) { state.fields.set(field.name, value); };
  RunningState running = start_from(state);
  give_levels(running, {&name, 1});
  state.params.set(spec->list->name, value_of(running.policy.params, *spec->list));
  set_field(*spec->window, integer_in(running, *spec->window));
  set_field(*spec->index, integer_in(running, *spec->index));
}

}  // namespace tare
