// The numbers in one line of JSON, by the path of their keys: "train/loss_scale". As Python writes it: NaN and Infinity
// are numbers.
#pragma once

#include <functional>
#include <string_view>

namespace tare {

struct JsonNumber {
  double value = 0;
  bool is_flag = false;  ///< true or false: 1 or 0
};

/// Tells each number, truth value and text that is a number. False where `text` is no JSON object, whole: then what was
/// told before the break means nothing.
bool read_json_line(std::string_view text, const std::function<void(std::string_view path, JsonNumber number)>& tell);

}  // namespace tare
