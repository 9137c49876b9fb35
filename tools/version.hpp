// What is running: release, commit, and how it was built.
#pragma once

#include <string>

/// What is built, shortened; a "+" behind it: with changes. Empty where that is not known.
extern const char* const commit;

/// "tare 0.1.0", and below it the commit, the compiler and the machine.
std::string version_text();
