// A value as trees have it, as states have it.
#pragma once

#include "lib/state/value.hpp"
#include "lib/tree/value.hpp"

namespace tare {

/// A number, text or a flat list of numbers; nothing for what is none of these.
StateValue state_value(const Value& value);

}  // namespace tare
