// What loaders could take a file for beside what it is: a pickle that starts with the same bytes, a tar archive, a zip
// at its end. Loaders go by their own first look, not by the file's format.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/source.hpp"

namespace tare {

/// In words; empty where there is nothing of the kind. `format` is the container's, or one of these.
std::string other_nature(const Source& source, std::string_view format);

/// Formats of files that are no container's.
inline constexpr std::string_view text_format = "text";
inline constexpr std::string_view picture_format = "picture";
inline constexpr std::string_view record_format = "records";  ///< of a tokenizer, of events
inline constexpr std::string_view raw_format = "raw";         ///< elements, packed or not, that another file speaks of

}  // namespace tare
