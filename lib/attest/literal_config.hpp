// Configurations that are Python: mmengine runs them. Those that it writes itself assign literals and nothing else.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

/// A text in a configuration, under the innermost key or variable around it.
struct ConfigText {
  std::string key;
  std::string text;
};

/// All texts of a source that does nothing but assign literals: numbers, texts, lists, tuples, dicts and calls of
/// `dict` with keywords. Nothing for any other source, and for one that mmengine changes before it runs it (`{{`).
std::optional<std::vector<ConfigText>> texts_of_literals(std::string_view source);

/// Whether a source is no more than a path, words, or YAML of one level: Python would find nothing there to call.
bool calls_nothing(std::string_view source);

/// Whether a source makes one object of literals: a name, and in brackets keywords with a literal each.
bool is_call_with_literals(std::string_view source);

}  // namespace tare
