// How values are written elsewhere: a JSON object of options.
#pragma once

#include <string>

namespace tare {

struct WriteOptions {
  bool unscale = true;
  double clip_norm = 0;   ///< 0: off
  double clip_value = 0;  ///< 0: off
};

/// A JSON object with those names; null or empty: the defaults. Throws `invalid_argument`.
WriteOptions parse_write_options(const char* json);

/// Options as text that is parsed only when it changes: nothing is allocated for what is already known.
class KnownWriteOptions {
 public:
  const WriteOptions& parsed(const char* json) {
    const char* text = json == nullptr ? "" : json;
    if (text_ != text) {
      options_ = parse_write_options(text);
      text_ = text;
    }
    return options_;
  }

 private:
  std::string text_;
  WriteOptions options_;
};

}  // namespace tare
