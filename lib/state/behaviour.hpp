// What a scaler would do, found by running copies of it: two frameworks' states are alike if their rules act alike, and
// no list of families has to say so.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

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

/// What a role comes to in a scaler, whether or not it has a value of that name: the factors, the interval, the
/// hysteresis (of a fresh one), how far the next growth and back-off are (for each counter that says so), whether the
/// scale moves (1 or 0). Nothing for other roles, and where there is no such event.
std::optional<double> measured(Role role, const rule::RunningState& scaler);

/// Where two scalers that step side by side first differ.
struct Divergence {
  std::string sequence;   ///< of steps: "clean steps alone" ...
  std::int64_t step = 0;  ///< counted from 1
  double scale = 0;       ///< the first one's after that step
  double other = 0;
  std::string raised;  ///< what the one says that stops; empty where none does
  bool other_raised = false;
  bool is_usual = false;  ///< it happens in steps as training has them, not only on the way to a bound
};

/// Runs both through the same steps and compares the scales after each: steps as they are usual first, then sequences
/// that lead to the bounds (many overflows, clean steps for long, overflows alone). Nothing: they were equal
/// throughout.
std::optional<Divergence> first_divergence(const rule::RunningState& scaler, const rule::RunningState& other);

/// A sequence of steps: whether the step of that number, from 0, overflows. Called once a step, in order.
struct StepSequence {
  std::string name;
  std::int64_t steps = 0;
  std::function<bool(std::int64_t step)> overflows;
};

/// The same for one sequence.
std::optional<Divergence> first_divergence(rule::RunningState scaler, rule::RunningState other,
                                           const StepSequence& sequence);

}  // namespace tare
