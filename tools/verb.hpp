// What a verb is to main: how it is called, what it takes, and something to run that gives an exit code.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tools/exit_code.hpp"
#include "tools/option.hpp"
#include "tools/terminal.hpp"

using Run = std::function<int(const Terminal&)>;

struct Verb {
  const char* name;
  const char* purpose;
  OptionTable options = {};
  std::vector<const char*> exclusive = {};                       ///< options of which only one is given
  std::vector<std::pair<const char*, const char*>> beside = {};  ///< options that say nothing without another: it
  std::vector<Verb> verbs = {};                                  ///< of which one must follow, where there are some
  const char* closing_words = "";                                ///< of --help
  Run run = {};  ///< keeps what the options set; empty where a verb follows
};

Verb inspect_verb();
Verb get_verb();
Verb edit_verb();
Verb fp8_verb();
Verb undo_verb();
Verb history_verb();
Verb diff_verb();
Verb migrate_verb();
Verb attest_verb();
Verb trace_verb();
Verb doctor_verb();
Verb simulate_verb();
Verb timeline_verb();
Verb ls_verb();
Verb watch_verb();

/// Of `command` as a whole, which outlives them.
Verb completion_verb(const Verb& command);
Verb manual_verb(const Verb& command);
