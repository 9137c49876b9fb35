#include "tools/json_line.hpp"

std::string JsonLine::next(std::string_view piece) {
  std::string line;
  line.reserve(piece.size());
  for (const char letter : piece) {
    if (letter == '\n') {
      is_indent_ = true;
    } else if (!is_indent_ || letter != ' ') {
      is_indent_ = false;
      line += letter;
    }
  }
  return line;
}
