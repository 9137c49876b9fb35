// A document of JSON as one line, for pipes.
#pragma once

#include <string>
#include <string_view>

namespace tare {

/// Takes a document piece by piece, and leaves the blanks and line breaks out that stand in none of its texts: as the
/// lines of `ls` and `watch` are.
class JsonLine {
 public:
  /// What is left of the next piece.
  std::string next(std::string_view piece);
  /// Of a whole document, and the end of the line.
  std::string of(std::string_view document) { return next(document) + '\n'; }

 private:
  bool is_text_ = false;
  bool is_escaped_ = false;
};

}  // namespace tare
