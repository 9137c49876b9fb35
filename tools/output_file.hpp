// A file that a verb writes beside its answer: never over another one unasked.
#pragma once

#include <string>

#include "tools/terminal.hpp"

/// Asks where a file is at `path` already, unless `force`. Throws `refused` where nobody agrees to its replacement, and
/// where it is no regular file.
void require_replaceable(const Terminal& terminal, const std::string& path, bool force);
