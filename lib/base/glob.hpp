// Patterns with wildcards, for choosing among names.
#pragma once

#include <string_view>

namespace tare {

/// `*` stands for any characters, `?` for one; nothing else is special. The whole of `text` has to match.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace tare
