// The file that this code was loaded from: what tare finds its modules and tare-remote by.
#pragma once

#include <string>

namespace tare {

/// The program, as /proc/self/exe has it, or the shared library that this function was linked into, as the kernel
/// mapped it: an absolute path without links. Neither argv[0], nor the name that a library was asked for by, nor the
/// current folder, which may be another since, has a say in it. Empty where the system does not tell (no /proc).
std::string own_file();

/// Was the program linked without a loader? Such a program opens no module: it would bring a second C library with it.
bool is_static_program();

}  // namespace tare
