// KEY -> field: roles and native names, and what is said where neither is there.
#pragma once

#include <string_view>
#include <vector>

#include "lib/dialect/found.hpp"

namespace tare {

/// In front of a key that is meant as the framework spells it.
inline constexpr std::string_view native_prefix = "native:";

/// The field of `scaler` that `key` names. Throws `refused` for a role that its framework does not store, with the way
/// in which it is set there, and `invalid_argument` for a key that means nothing, with those that do.
const Field& field_of(const FoundScaler& scaler, std::string_view key);

/// That field, and with a role all others of it: where a framework keeps one value twice, both change. Throws likewise.
std::vector<const Field*> fields_of(const FoundScaler& scaler, std::string_view key);

}  // namespace tare
