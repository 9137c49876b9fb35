// What a user asks to be changed, in the user's words.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tare {

/// KEY=VALUE. The key is a role or a native name; where one word is both the role wins, `native:NAME` forces the other.
/// The value is a number as parse_number takes it, or true or false.
struct Assignment {
  std::string key;
  std::string value;
};

struct EditRequest {
  std::vector<Assignment> set;
  std::optional<std::string> at;  ///< the path of one scaler, as inspect prints it
  bool all = false;               ///< every scaler, where there are several
  bool align = false;             ///< copies that disagree first get the state that most of them have
  bool force = false;             ///< also values that the framework could not use, and files unlike their manifest
  /// Called with a sentence before something that takes long; may be empty.
  std::function<void(const std::string&)> announce = {};
};

/// Splits "scale=65536" at its first '='. Throws `invalid_argument` where there is none or no key before it.
Assignment parse_assignment(const std::string& text);

}  // namespace tare
