#include "lib/codec/json_line.hpp"

namespace tare {

std::string JsonLine::next(std::string_view piece) {
  std::string line;
  line.reserve(piece.size());
  for (const char letter : piece) {
    if (!is_text_ && (letter == ' ' || letter == '\n')) continue;
    line += letter;
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (letter == '\\') {
      is_escaped_ = true;
    } else if (letter == '"') {
      is_text_ = !is_text_;
    }
  }
  return line;
}

}  // namespace tare
