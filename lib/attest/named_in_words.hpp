// What texts name for their loaders to import and call, by their words: those that are read as no tree.
#pragma once

#include <string_view>

#include "lib/attest/doubt.hpp"
#include "lib/base/budget.hpp"

namespace tare {

/// Of any text but JSON as a whole, however its words are escaped: TOML, JSON line by line. What is named costs
/// `budget`; its offset is that in the text without escapes.
Doubt doubt_of_words(std::string_view text, Budget& budget);
/// Of YAML also what could say more than its words do: tags that are not YAML's own, directives, escapes.
Doubt doubt_of_yaml(std::string_view text, Budget& budget);

}  // namespace tare
