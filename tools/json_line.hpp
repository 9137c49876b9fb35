// A document of JSON as one line, for pipes.
#pragma once

#include <string>
#include <string_view>

/// Takes a document that is indented, piece by piece: no text in JSON holds a line break of its own, so that each ends
/// a line and is followed by blanks.
class JsonLine {
 public:
  /// What is left of the next piece.
  std::string next(std::string_view piece);
  /// Of a whole document, and the end of the line.
  std::string of(std::string_view document) { return next(document) + '\n'; }

 private:
  bool is_indent_ = false;
};
