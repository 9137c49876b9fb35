// The checkpoints below a folder as text for people.
#pragma once

#include <string>
#include <vector>

#include "lib/trace/listed.hpp"
#include "tools/terminal.hpp"

/// A line a checkpoint.
std::string render_listed(const Terminal& terminal, const std::vector<tare::ListedCheckpoint>& checkpoints);
