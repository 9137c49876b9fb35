// The words of a command line that are alike for every command: which command, help, how much is said and in which
// colours.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>

#include "tools/terminal.hpp"

/// Gives `app` and all its commands --color, --quiet and --verbose, which set `options`. Both outlive the parse.
void add_terminal_options(CLI::App& app, TerminalOptions& options);

/// Parses `words`, the program's name first. The exit code where that was all: help was asked for, or the words make no
/// sense, which is told on stderr.
std::optional<int> parse_words(CLI::App& app, std::span<char* const> words);
