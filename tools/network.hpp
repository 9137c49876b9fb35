// Where files are read from. The command is built twice: `tare`, static and without a network, and `tare-remote`, which
// takes over where an argument is a URL, or a file in HDF5 that may be a state.
#pragma once

#include <optional>
#include <string>

#include "lib/base/files.hpp"

/// In `tare`: replaces this process by `tare-remote` where an argument is a URL or ends in .h5; the exit code where
/// that is not to be had for a URL, else nothing. In `tare-remote`: nothing.
std::optional<int> hand_over(char** arguments);

/// The storage that `path` is in. Borrowed, for the life of the process.
const tare::Files& files_of(const std::string& path);
