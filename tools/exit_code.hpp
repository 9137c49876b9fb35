// The exit codes of every verb, as --help lists them.
#pragma once

enum ExitCode : int {
  exit_done = 0,     ///< done, also with warnings and sick values
  exit_no = 1,       ///< the answer is "no": copies disagree, a rank file cannot be read, diff differs
  exit_usage = 2,    ///< malformed command line, unknown KEY
  exit_failed = 3,   ///< cannot be read, written or locked; unknown format
  exit_refused = 4,  ///< valid but refused: ambiguous, not stored, nothing to undo, declined
  exit_untold = 5,   ///< the change is made, but its answer cannot be written
};
