// How far verbs go that read URLs.
#pragma once

#include "lib/remote/remote_limits.hpp"
#include "tools/option.hpp"

/// What can be said of URLs to a verb that takes them.
OptionTable network_options();

/// As the command line has them: one command has one.
const tare::RemoteLimits& network_limits();
