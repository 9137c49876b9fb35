// Small texts that settings are kept in.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/base/bytes.hpp"

namespace tare {

/// Without blanks and line ends before and behind it.
std::string_view trimmed(std::string_view text);

/// Empty for a file that is not there: most machines have none.
std::string small_file(const std::string& path);

/// Of a file of the system, which has no size by which it could be read; empty where it is not there.
std::string first_line(const std::string& path);

/// Does an INI text have `[section]`, with a comment behind it, or its words in quotes?
bool has_section(std::string_view text, std::string_view section);

/// The value of `key` (in small letters; the text may have others) in `[section]` of an INI text, behind '=' or ':'; ""
/// where there is none.
std::string ini_value(std::string_view text, std::string_view section, std::string_view key);

/// The same of the lines behind `group =` that are set in, as the aws command nests them.
std::string ini_value_within(std::string_view text, std::string_view section, std::string_view group,
                             std::string_view key);

/// What base64 made a text of, up to its first '='; nothing where there are other letters in it.
std::optional<Bytes> from_base64(std::string_view text);

}  // namespace tare
