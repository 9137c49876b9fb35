// What file names tell: their order, their ending, and whether a name may be followed.
#pragma once

#include <string>
#include <string_view>

namespace tare {

/// Numbers in names compare as numbers: "rank2" before "rank10".
bool natural_less(std::string_view a, std::string_view b);

/// Neither absolute nor empty, and no part is "..": all that a name stored in a file may be.
bool is_plain_relative(std::string_view name);

/// In lower case, with the dot; empty where there is none.
std::string extension(std::string_view path);

/// Whether its ending says so: what is in no known format then is no other file, but something is wrong with it.
bool is_meant_as_checkpoint(std::string_view path);

}  // namespace tare
