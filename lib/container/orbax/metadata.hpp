// What Orbax keeps beside the arrays of an item: which kinds of Python objects they were.
#pragma once

#include <set>
#include <string>

#include "lib/container/source_folder.hpp"

namespace tare {

/// The file that an item has, whatever its arrays are kept in.
inline constexpr const char* orbax_metadata_name = "_METADATA";

/// The names of an item's values that were Python's own numbers; none where it has no such file. Throws `corrupt` or
/// `refused` where that is unreadable.
std::set<std::string> orbax_python_numbers(const SourceFolder& folder);

}  // namespace tare
