// What to do about what was found, as commands that a shell takes as they stand.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

/// The advice of the finding's rule, empty where it has none: with the checkpoint's path, and, where an edit could
/// mean several scalers, with the place of the one that was found sick.
std::string advice_about(const Checkpoint& checkpoint, const Finding& finding);

struct Blank {
  std::string_view word;  ///< as the rules' table has it: CHECKPOINT, TRACE, {healthy}
  std::string with;
};

/// `advice` with its blanks filled, in one pass: what is filled in is left as it is.
std::string filled(std::string_view advice, std::initializer_list<Blank> blanks);

}  // namespace tare
