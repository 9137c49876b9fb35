// The text that a recipe of TransformerEngine keeps of its own values.
#pragma once

#include <vector>

#include "lib/dialect/found.hpp"
#include "lib/edit/fp8_values.hpp"

namespace tare {

/// The texts of recipes in which values stand that are others in `after` than in `before`, said anew: a process that
/// loads a recipe takes the text for what it holds.
std::vector<NewField> renewed_recipe_texts(const FoundScaler& before, const FoundScaler& after);

}  // namespace tare
