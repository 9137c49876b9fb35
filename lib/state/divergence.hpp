// Where two scalers that step side by side part: looked for in every pattern of overflows as far as that is feasible,
// then in patterns that lead to the bounds, then in steps as training has them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "kernels/rule/running.hpp"

namespace tare {

/// Where two scalers that step side by side first differ.
struct Divergence {
  std::string sequence;   ///< of steps: "clean steps alone" ...
  std::int64_t step = 0;  ///< counted from 1
  double scale = 0;       ///< the first one's after that step
  double other = 0;
  std::string raised = {};  ///< what the one says that stops; empty where none does
  bool other_raised = false;
  bool is_usual = false;  ///< it happens in steps as training has them, not only on the way to a bound
  std::string why = {};   ///< what each does in that step: "the source grows, the target does not"
};

/// A sequence of steps: whether the step of that number, from 0, overflows. Called once a step, in order.
struct StepSequence {
  std::string name;
  std::int64_t steps = 0;
  std::function<bool(std::int64_t step)> overflows;
};

/// Compares the scales after each step of one sequence. Nothing: they were equal throughout, or both stopped at once.
std::optional<Divergence> first_divergence(rule::RunningState scaler, rule::RunningState other,
                                           const StepSequence& sequence);

struct Comparison {
  std::optional<Divergence> first;  ///< the earliest that was found; usual where they part in usual steps, too
  std::optional<Divergence> usual;  ///< the earliest that does not take them to a bound
};

/// What is found where both go through the same steps.
Comparison compare_rules(const rule::RunningState& scaler, const rule::RunningState& other);

}  // namespace tare
