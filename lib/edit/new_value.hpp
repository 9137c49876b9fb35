// VALUE -> what a field will hold: of the field's own kind where that can be, and nothing that its framework chokes on.
#pragma once

#include <string>
#include <variant>

#include "lib/dialect/found.hpp"
#include "lib/state/value.hpp"

namespace tare {

struct NewValue {
  std::variant<bool, Integer, double> data;
  Value after;       ///< as it will be read back: rounded to the field's type
  std::string note;  ///< set where Python's type changes: "int becomes float"
};

/// Throws `invalid_argument` for what is no value, and `refused` for one that the field cannot hold or, without
/// `force`, that the framework could not use.
NewValue new_value(const Field& field, const StateValue& given, bool force);

/// The number that is given, true and false as 1 and 0. Throws `invalid_argument` with `what` where it is none.
double given_number(const StateValue& given, const std::string& what);

/// As a user wrote it, or would.
std::string given_text(const StateValue& given);

}  // namespace tare
