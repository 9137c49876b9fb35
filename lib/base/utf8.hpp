// One character as UTF-8.
#pragma once

#include <cstdint>
#include <string>

namespace tare {

/// REQUIRES: `point` is at most 0x10ffff. Halves of a pair are written as if they were characters.
void append_utf8(std::string& to, std::uint32_t point);

}  // namespace tare
