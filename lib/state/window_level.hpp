// mindformers' adaptive window moves along a list: the window and the index of its level say one thing, and are set
// together. Level -1 is the hidden window 1, where three overflows lead.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/rule/policy.hpp"
#include "kernels/rule/running.hpp"
#include "lib/state/scaler_state.hpp"

namespace tare {

struct WindowLevel {
  std::vector<std::int64_t> windows;  ///< of all levels, ascending
  std::int64_t index = 0;             ///< the state's
  std::int64_t window = 0;            ///< the state's
  std::int64_t growths = 0;           ///< until the window moves on; 0: the next step moves it, or it is the last
  bool is_assumed = false;            ///< the list is the framework's usual one, as the state says nothing of it

  /// Whether the list has that window at that index. Not so where the run was configured otherwise than the list says.
  [[nodiscard]] bool is_in_list() const;
  [[nodiscard]] bool is_hidden() const { return index < 0; }
  /// The window after the next ones; nothing at the last level.
  [[nodiscard]] std::optional<std::int64_t> next() const;
  /// "20, 30, 40".
  [[nodiscard]] std::string list() const;
};

bool has_levels(const ScalerState& state);

/// "window 30 is level 2 of 8 (20, 30, ...); after 3 growths it is 40".
std::string sentence(const WindowLevel& level);

/// Where a state stands; nothing for a policy without levels, or for values that no such policy holds.
std::optional<WindowLevel> window_level(const ScalerState& state);
std::optional<WindowLevel> window_level(const rule::RunningState& running);

/// Whether the list of windows is made of the parameter of that name.
bool makes_list(const rule::PolicySpec& policy, std::string_view parameter);

/// The index of the level that has the window. Throws `mismatch` and prints the list where none has.
std::int64_t index_of_window(const WindowLevel& level, std::int64_t window);
/// The window of a level. Throws likewise.
std::int64_t window_at(const WindowLevel& level, std::int64_t index);

/// What follows from parameters that were given, by their names: the ends of the list make it anew, and the state goes
/// to the level with its window, or else with the nearest; a window given is the state's. Throws as above.
void give_levels(rule::RunningState& running, std::span<const std::string_view> given);

/// Throws `mismatch` for a state whose index the list does not have.
void require_level(const rule::RunningState& running);

/// Of window and index, the one that a state's fields do not hold. Throws as above.
void complete_level(rule::RunningState& running, const StateSection& fields);

/// After the field, or the parameter, of that name was set: what else says the same follows. Throws as above; the state
/// is then half set. REQUIRES: has_levels(state).
void field_follows(ScalerState& state, std::string_view name);
void parameter_follows(ScalerState& state, std::string_view name);

}  // namespace tare
