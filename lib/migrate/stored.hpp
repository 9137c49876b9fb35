// What a framework's file holds of a state, and what it does not.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "lib/dialect/dialect.hpp"
#include "lib/migrate/migrate.hpp"

namespace tare {

using IsStored = std::function<bool(std::string_view native, std::optional<Role> role)>;

/// Counters that the file has no place for are lost, whatever the rule would do with them; parameters that it does not
/// hold, and that are not their framework's defaults, have to be configured.
void tell_of_unstored(Migration& migration, const Dialect& dialect, const IsStored& is_stored);

}  // namespace tare
