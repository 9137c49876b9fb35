// What is said of a change once it is made.
#pragma once

#include <functional>
#include <string>

#include "tools/terminal.hpp"

/// Gives the answer that `answer` makes, of a change that is made already: where that fails, only the answer is lost,
/// which a warning says. Returns exit_done, or exit_untold.
int tell_made(const Terminal& terminal, const std::function<std::string()>& answer);
