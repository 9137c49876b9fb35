// The command as whoever types sees it, with what no verb's own table says.
#pragma once

#include "tools/verb.hpp"

/// `command` with the options that the parser adds (-h,--help to every verb, -V,--version to itself), and its verbs'
/// names as the words for a COMMAND. To be described: what its options would set is not there.
Verb whole(Verb command);
