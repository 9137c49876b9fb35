// The variables that a static graph of Paddle keeps its scaler in: a name, and a number that tells several apart.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/state/role.hpp"

namespace tare {

struct StaticVariable {
  Role role;
  unsigned number;
};

/// What a variable of that name is to a scaler; nothing for all others.
std::optional<StaticVariable> static_variable(std::string_view name);

/// The variables of one scaler: its scale, then its counters.
std::vector<std::string> static_variables(unsigned number);

}  // namespace tare
