// A value in few words, for a plan's reader and for the history.
#pragma once

#include <string>

#include "lib/tree/value.hpp"

namespace tare {

/// The number itself, a text as it is, the first elements of an array; the type of anything else.
std::string value_text(const Value& value);

}  // namespace tare
