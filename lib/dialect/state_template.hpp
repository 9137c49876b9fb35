// States made from nothing, as their frameworks would write them: dialect.hpp describes them.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/dialect/found.hpp"
#include "lib/state/scaler_state.hpp"
#include "lib/tree/document.hpp"

namespace tare {

/// The names of all forms.
std::set<std::string_view> template_names();

/// The forms of that name, one at least. Throws `invalid_argument` for an unknown name, with those that there are;
/// `refused` where no file holds such a scaler alone, with what to do instead; NoRule where no rule goes on with it.
std::vector<const StateTemplate*> templates_of(std::string_view name);

/// The one for a file with that ending. Throws as `templates_of`, and `refused` where there is none, with the endings
/// that there are.
const StateTemplate& template_for(std::string_view name, std::string_view path);

/// The scaler alone: a map, or an object. REQUIRES: a state of the template's policy and variant. Throws as `filled`.
Document scaler_of(const StateTemplate& form, const ScalerState& state);

/// Whether it holds the value of that native name.
bool holds(const StateTemplate& form, std::string_view native);

/// The file's content. REQUIRES: a state of the template's policy and variant. Throws `refused` for a value that the
/// type in the file cannot hold.
Document filled(const StateTemplate& form, const ScalerState& state);

}  // namespace tare
