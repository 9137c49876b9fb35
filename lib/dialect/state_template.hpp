// States made from nothing, as their frameworks would write them: dialect.hpp describes them.
#pragma once

#include <string>
#include <string_view>

#include "lib/dialect/found.hpp"
#include "lib/state/scaler_state.hpp"
#include "lib/tree/document.hpp"

namespace tare {

/// The form of that name for a file with that ending. Throws `invalid_argument` for an unknown name, with those that
/// there are; `refused` where that framework has no file that holds a scaler alone, or none with that ending, with what
/// to do instead.
const StateTemplate& template_for(std::string_view name, std::string_view path);

/// The scaler alone: a map, or an object. REQUIRES: a state of the template's policy and variant. Throws as `filled`.
Document scaler_of(const StateTemplate& form, const ScalerState& state);

/// Whether it holds the value of that native name.
bool holds(const StateTemplate& form, std::string_view native);

/// The file's content. REQUIRES: a state of the template's policy and variant. Throws `refused` for a value that the
/// type in the file cannot hold.
Document filled(const StateTemplate& form, const ScalerState& state);

}  // namespace tare
