// Characters as UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tare {

/// REQUIRES: `point` is at most 0x10ffff. Halves of a pair are written as if they were characters.
void append_utf8(std::string& to, std::uint32_t point);

/// What stands behind the mark that editors of Windows put at the beginning of a text.
constexpr std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

}  // namespace tare
