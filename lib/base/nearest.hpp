// Which word somebody meant who misspelt one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tare {

/// The candidate with the fewest letters left out, added, replaced or swapped with their neighbour, in any case of
/// letters; of equals the first. Empty where all differ in more than a third of the word.
std::string_view nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace tare
