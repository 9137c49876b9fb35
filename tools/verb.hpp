// What a verb is to main: a name in the command line, and something to run that gives an exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "tools/terminal.hpp"

/// The exit codes of every verb, as --help lists them.
enum ExitCode : int {
  exit_done = 0,     ///< done, also with warnings and sick values
  exit_no = 1,       ///< the answer is "no": copies disagree, a rank file cannot be read, diff differs
  exit_usage = 2,    ///< malformed command line, unknown KEY
  exit_failed = 3,   ///< cannot be read, written or locked; unknown format
  exit_refused = 4,  ///< valid but refused: ambiguous, not stored, nothing to undo, declined
  exit_untold = 5,   ///< the change is made, but its answer cannot be written
};

using Run = std::function<int(const Terminal&)>;

/// Each adds its verb and what it takes to `app`, and sets `run` where the user chose it.
void add_inspect(CLI::App& app, Run& run);
void add_get(CLI::App& app, Run& run);
void add_edit(CLI::App& app, Run& run);
void add_undo(CLI::App& app, Run& run);
void add_history(CLI::App& app, Run& run);
void add_migrate(CLI::App& app, Run& run);
void add_diff(CLI::App& app, Run& run);
void add_attest(CLI::App& app, Run& run);
void add_fp8(CLI::App& app, Run& run);
