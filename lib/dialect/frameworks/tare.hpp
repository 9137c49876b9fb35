// tare's own states, which its scalers save and load (lib/codec), found in trees like any framework's.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/dialect/found.hpp"
#include "lib/state/scaler_state.hpp"

namespace tare {

/// What the dialects of such states are called, and the field that says which they are.
inline constexpr std::string_view name_of_own = "tare", own_policy_field = "policy";

/// Whether a scaler was found in a file of tare's own.
bool is_own(const FoundScaler& scaler);

/// The state that the file holds, every section of it. REQUIRES: is_own(scaler).
ScalerState own_state(const FoundScaler& scaler);

/// What vouches for the roles of a state in JSON, where it does now, as it has to be after a change.
struct RolesChecksum {
  NodeId node;
  std::string text;
};

/// Those of a file's states of which some roles change. `changed`: nodes of roles, and what they become.
std::vector<RolesChecksum> roles_checksums(const Tree& tree, const std::map<NodeId, Value>& changed);

}  // namespace tare
