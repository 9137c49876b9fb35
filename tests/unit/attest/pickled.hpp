// Pickles of maps and texts, written opcode by opcode.
#pragma once

#include <string>
#include <vector>

namespace tare::test {

inline std::string long_text_op(const std::string& text) {
  std::string size(4, '\0');
  for (std::size_t i = 0; i < size.size(); ++i) size[i] = static_cast<char>(text.size() >> (8 * i) & 0xff);
  return "X" + size + text;
}
inline std::string beside(const std::string& key, const std::string& value) {
  return long_text_op(key) + long_text_op(value) + "s";
}

/// A pickle of maps in each other, with the last of `path` under the one before it.
inline std::string pickle_at(const std::vector<std::string>& path, const std::string& more = "") {
  std::string pickle = std::string("\x80\2");
  for (std::size_t i = 0; i + 1 < path.size(); ++i) pickle += "}" + long_text_op(path[i]);
  pickle += long_text_op(path.back()) + "s" + more;
  for (std::size_t i = 0; i + 2 < path.size(); ++i) pickle += "s";
  return pickle + ".";
}

}  // namespace tare::test
