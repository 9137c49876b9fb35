// The command as whoever types sees it, with what no verb's own table says.
#pragma once

#include "tools/verb.hpp"

/// `command` with the options that the parser adds (-h,--help to every verb, -V,--version to itself). To be described:
/// what its options would set is not there.
Verb whole(Verb command);

/// `command` as it is completed: where a verb takes a COMMAND, the names of all verbs lead on as if they were its own,
/// so that behind `manual fp8` stand the verbs of fp8.
Verb with_commands_as_words(Verb command);
