// What a user passes to a framework for values that it takes from its configuration, ready to be pasted.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/dialect/found.hpp"
#include "lib/state/value.hpp"

namespace tare {

/// A parameter of a framework, by its role and by the name that its rule has for it; either may be missing.
struct ToldValue {
  std::optional<Role> role;
  std::string_view name;
  StateValue value = {};
};

/// Whether that framework can be told it.
bool is_told(const Dialect& dialect, const ToldValue& value);

/// "--loss-scale-window 1000 --hysteresis 4", "DynamicScale(growth_interval=500)" ...: all of `values` that this
/// framework can be told. Empty where there is none.
std::string flags_for(const Dialect& dialect, std::span<const ToldValue> values);

}  // namespace tare
