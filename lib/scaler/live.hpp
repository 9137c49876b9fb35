// What a scaler that runs is asked and told between its steps: single values, and what a step did.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/rule/policy.hpp"
#include "lib/scaler/scaler.hpp"

namespace tare {

/// Memory of a value, where the scaler computes; stable for its life.
struct LiveField {
  void* data = nullptr;
  rule::ValueType type = rule::ValueType::real32;
};

/// The memory of a field (by native name or role), or of "inverse_scale". Throws `not_found` for another key,
/// `unsupported` for a field that is kept as no plain number.
LiveField live_field(LossScaler& scaler, std::string_view key);

/// The value of a field, parameter or counter, by any key of a state. Waits. Throws as get does.
StateValue live_value(const LossScaler& scaler, std::string_view key, kernels::Stream stream);

/// Changes one; found-inf of the step stays, its statistics start anew. Waits. Throws as set and load do.
void put_live_value(LossScaler& scaler, std::string_view key, const StateValue& value, kernels::Stream stream);

/// What an update made of the scale.
struct UpdateOutcome {
  double old_scale = 0;
  double new_scale = 0;
  bool found_inf = false;
  bool skipped = false;
};

/// One update, and what it did, which is told also where it throws `rule_raised`. Waits.
void update(LossScaler& scaler, UpdateOutcome& outcome, kernels::Stream stream);

/// Throws `invalid_argument` for a scale that no gradient survives: nan, 0 and below, and what becomes 0 where the
/// policy keeps it; `rule_raised` for one that it cannot hold.
void require_settable(const rule::Policy& policy, double scale);

}  // namespace tare
