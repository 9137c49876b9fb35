// What happens to a run that is watched, as lines for people.
#pragma once

#include <string>

#include "lib/watch/watch.hpp"
#include "tools/terminal.hpp"

std::string render_watch(const Terminal& terminal, const tare::WatchEvent& event);

/// "run: 12345 steps, 17 overflows, scale 65536.0, 3 checkpoints"
std::string render_status(const Terminal& terminal, const tare::RunStatus& status);
