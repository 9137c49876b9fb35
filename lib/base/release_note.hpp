// What a file of tare's says of its release, read without running it.
#pragma once

#include <string>

#include "lib/base/source.hpp"

namespace tare {

/// The release in the file's note (lib/base/release_note.h); empty where it has none, or is no ELF file of this
/// machine's word size and byte order. Throws `io` where it cannot be read.
std::string release_noted_in(const Source& file);

}  // namespace tare
