// The words of a command line: which verb is meant, and what its options say. What the verbs are is told as data; how
// words are parsed, and --help is written, nobody else needs to know.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "tools/terminal.hpp"
#include "tools/verb.hpp"

/// Gives `command` and all its verbs --color, --quiet and --verbose, which set `options`. It outlives the parse.
void add_terminal_options(Verb& command, TerminalOptions& options);

/// Parses `words`, the program's name first; `run` becomes what the verb that they name runs. The exit code where that
/// was all: help was asked for, or the words make no sense, which is told on stderr.
std::optional<int> parse_words(const Verb& command, const std::string& version, std::span<char* const> words, Run& run);
