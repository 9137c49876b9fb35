// What a scaler would do, found by running copies of it: two frameworks' states are alike if their rules act alike, and
// no list of families has to say so.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/rule/running.hpp"
#include "lib/state/role.hpp"

namespace tare {

/// Clean steps until the scale grows, that one included; nothing where it does not within some four million, or the
/// rule raises. Floor, ceiling and the present scale do not matter.
std::optional<std::int64_t> clean_steps_to_growth(const rule::RunningState& scaler);

/// Clean steps from one growth to the next; nothing as above.
std::optional<std::int64_t> clean_steps_between_growths(const rule::RunningState& scaler);

/// Overflows in a row until the scale backs off, that one included; nothing where it never does. Bounds and the present
/// scale do not matter.
std::optional<std::int64_t> overflows_to_backoff(const rule::RunningState& scaler);

/// The scale that overflows in a row end at, from 2^10 on, where it is no lower than 2^-20: a floor, whether or not a
/// value says so. Nothing where there is none, or the rule raises.
std::optional<double> floor_of(rule::RunningState scaler);

/// What a role comes to in a scaler, whether or not it has a value of that name: the factors, the interval, the
/// hysteresis (of a fresh one), how far the next growth and back-off are (for each counter that says so), whether the
/// scale moves (1 or 0). Nothing for other roles, and where there is no such event.
std::optional<double> measured(Role role, const rule::RunningState& scaler);

/// The same scaler in the middle of its range, with its bounds far away: nothing that it does next is cut short.
rule::RunningState away_from_bounds(rule::RunningState scaler);

}  // namespace tare
