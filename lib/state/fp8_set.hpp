// A set of FP8 slots (a tensor's scale, its amax history) between a running scaler and the one state.
//
//   params  the policy's parameters; "slots": how many, or their names; "format": one for all, or a list
//   fields  one value a slot, or one row of them: an amax history stands as its framework's array, index 0 first
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/state/fp8_policy.hpp"
#include "lib/state/scaler_state.hpp"

namespace tare {

struct Fp8Set {
  const Fp8PolicySpec* policy;
  Fp8Parameters parameters;
  std::vector<std::string> names;  ///< one a slot, or none at all
  std::vector<Dtype> formats;      ///< one a slot: e4m3 or e5m2

  // One value a slot, by Fp8Array; `history` has as many as it is long, slot after slot.
  std::vector<float> scale;
  std::vector<double> mu;
  std::vector<float> history;
  std::vector<std::int64_t> counter;  ///< or whether the slot is initialised: no policy has both
  std::vector<float> amax;
  std::vector<std::int64_t> seen;
  std::vector<std::int64_t> at_largest;

  [[nodiscard]] std::size_t count() const { return formats.size(); }
};

inline constexpr std::string_view fp8_slots_key = "slots";
inline constexpr std::string_view fp8_format_key = "format";
inline constexpr std::size_t most_fp8_slots = std::size_t{1} << 20;
/// Of one set, so that nothing asks for more memory than a checkpoint of this kind would take.
inline constexpr std::size_t most_fp8_history_entries = std::size_t{1} << 28;

/// Throws `invalid_argument` and names what there is.
const Fp8PolicySpec& require_fp8_policy(std::string_view name);

/// A set of that policy with its framework's parameters.
Fp8Set without_slots(const Fp8PolicySpec& policy);

/// Puts one parameter, "slots" or "format" (behind "slots") among them; false where there is none of that name. Throws
/// `mismatch` for a value of another kind or out of range.
bool assign(Fp8Set& set, std::string_view key, const StateValue& value);

/// What `set.parameters` of a set has there, as the state writes it.
StateValue parameter_value(const Fp8Parameters& parameters, const Fp8ParameterSpec& spec);

/// Gives arrays their size, with the values of a fresh set, once parameters, slots and formats are known. Throws
/// `mismatch` where the list of formats is not as long as that of slots, or the histories are too many.
void start_fresh(Fp8Set& set);

/// Whether that is an initial scale for each slot.
bool lists_scales(const Fp8Set& set, std::string_view key, const StateValue& value);

/// Each slot starts at its own. Throws `mismatch` for another number of them, or one that is out of range. REQUIRES:
/// lists_scales, and start_fresh was called.
void start_scales(Fp8Set& set, std::string_view key, const StateValue& value);

ScalerState to_state(const Fp8Set& set);

/// What the state does not name starts as in a fresh set. Throws `mismatch` for what does not fit, `unsupported` for a
/// policy that is none of FP8.
Fp8Set start_fp8_from(const ScalerState& state);

/// The slots of these numbers alone. REQUIRES: each is below set.count().
Fp8Set some_of(const Fp8Set& set, const std::vector<std::size_t>& slots);

/// Takes a state of the same policy, as many slots and the same length of history; parameters, names and formats that
/// it lacks stay. Throws `mismatch`; then nothing has changed.
void load_into(Fp8Set& set, const ScalerState& state);

}  // namespace tare
