// Standard input in the place of a checkpoint file: `ssh host cat scaler.pt | tare inspect -`.
#pragma once

#include <string_view>

#include "lib/base/files.hpp"

constexpr std::string_view standard_input_path = "-";

/// Storage whose only file is `-`. A redirected file is read by ranges, all else into memory first: throws `refused`
/// for more than limits::max_piped_bytes. Borrowed, for the life of the process.
const tare::Files& standard_input();
