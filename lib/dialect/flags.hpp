// What a user passes to a framework for values that it takes from its configuration, ready to be pasted.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "lib/dialect/dialect.hpp"
#include "lib/state/value.hpp"

namespace tare {

/// "--loss-scale-window 1000 --hysteresis 4", "DynamicScale(growth_interval=500)" ...: all of `values` that this
/// framework can be told. Empty where there is none.
std::string flags_for(const Dialect& dialect, std::span<const std::pair<Role, StateValue>> values);

}  // namespace tare
