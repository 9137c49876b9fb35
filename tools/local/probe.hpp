// Can a program of ours be started here?
#pragma once

#include <string>

/// Runs `program --version`, and says why that fails: a library that it needs is missing, or the C library is older
/// than the one that it was built for. The loader finds that out only when the program has taken our place, and leaves
/// with exit codes that would be taken for the command's own. Empty where nothing is wrong.
std::string why_not_runnable(const std::string& program);
