// How far verbs go that read URLs.
#pragma once

#include <CLI/CLI.hpp>

#include "lib/remote/remote_limits.hpp"

/// Adds what can be said of URLs to a verb that takes them.
void add_network_options(CLI::App& verb);

/// As the command line has them: one command has one.
const tare::RemoteLimits& network_limits();
