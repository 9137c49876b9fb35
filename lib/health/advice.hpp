// What to do about what was found in a checkpoint, as commands that a shell takes as they stand.
#pragma once

#include <string>

#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

/// The advice of the finding's rule, empty where it has none: with the checkpoint's path, and, where an edit could
/// mean several scalers, with the place of the one that was found sick.
std::string advice_about(const Checkpoint& checkpoint, const Finding& finding);

/// Puts `with` in the place of each `what`.
void fill_in(std::string& advice, std::string_view what, const std::string& with);

}  // namespace tare
