// The one state: what a running scaler saves, what a state file holds, what a checkpoint is translated to.
//
//   policy      whose rule it follows, by the name in kernels/rule/policy.hpp
//   params      the rule's parameters, by the framework's names (and "floor", "ceiling", the policy's variant)
//   fields      what changes from step to step, by the framework's names
//   roles       the same values under tare's own words: a view, made when it is asked for
//   statistics  what the scaler has gone through: steps, skipped, growths, backoffs
//   other       whatever else stood there: kept, not understood
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/state/value.hpp"

namespace tare {

inline constexpr std::string_view state_schema = "tare.state/1";

struct ScalerState {
  std::string policy;
  StateSection params;
  StateSection fields;
  StateSection statistics;
  StateSection other;

  friend bool operator==(const ScalerState&, const ScalerState&) = default;
};

/// Brings names to the policy's own spelling, moves parameters that stood among the fields (as in torch's state_dict)
/// to params, and puts values in the policy's types: hex floats, "nan" and "inf" become numbers, 65536.0 becomes an int
/// where an int is meant. Unknown names are kept as they are, a state of an unknown policy as a whole. Throws
/// `mismatch` where a known name holds what it cannot hold, or the same value comes twice and differently.
void normalise(ScalerState& state);

/// The roles that the state has values for, in the order of role.cpp's table.
StateSection roles_of(const ScalerState& state);

/// Where `roles` of a file say something else than its fields and params, this throws `mismatch`: one of the two was
/// edited and nobody can know which. Roles that have no value yet are taken in.
void take_roles(ScalerState& state, const StateSection& roles);

/// Of the roles' names and numbers, 32 bits in hexadecimal: tells roles that were edited from those that were not.
std::string roles_checksum(const StateSection& roles);

/// As take_roles, of roles that are as they were written: where a field says something else, the field was edited, and
/// counts.
void take_missing_roles(ScalerState& state, const StateSection& roles);

// ---- one value, by key: a native name (either spelling), a role, or "fields.x", "params.x", "statistics.x", "other.x"

/// Null where there is none.
const StateValue* find(const ScalerState& state, std::string_view key);
/// Throws `not_found`, and names what there is.
const StateValue& get(const ScalerState& state, std::string_view key);
/// Changes a value and keeps its type: an int stays an int. Throws `not_found` for a key that neither the state nor its
/// policy knows, `mismatch` for a value that the policy cannot hold there.
void set(ScalerState& state, std::string_view key, const StateValue& value);
/// Every key in full ("fields.scale"), in order, "policy" first.
std::vector<std::string> keys(const ScalerState& state);

/// The number behind a value: an int, a float, true and false as 1 and 0, a hex float or "nan" as text. Throws
/// `mismatch` with `what` in the message for anything else.
double number_of(const StateValue& value, std::string_view what);
std::int64_t integer_of(const StateValue& value, std::string_view what);

}  // namespace tare
