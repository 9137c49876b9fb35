// What became of a verb: its own answer, or what went wrong as a message and an exit code.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/terminal.hpp"

/// Runs `verb`. What it throws is told on stderr, and its kind gives the exit code.
int outcome(const Terminal& terminal, const std::function<int()>& verb);

/// The same for each of `paths`, of which none keeps another from its turn; the highest exit code.
int outcome_of_each(const Terminal& terminal, const std::vector<std::string>& paths,
                    const std::function<int(const std::string&)>& verb);
