// FP8 state as a table: for a few layers every tensor, for hundreds what is usual and what stands out.
#pragma once

#include <string>

#include "lib/checkpoint/checkpoint.hpp"
#include "tools/terminal.hpp"

/// All state of kind "fp8"; with a pattern every tensor of the layers that match it. Empty where there is none.
std::string render_fp8(const Terminal& terminal, const tare::Checkpoint& checkpoint, const std::string& layers);
