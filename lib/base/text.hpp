// Text that is exact (numbers) and safe to show (names from a file).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tare {

/// Shortest text that reads back to the same double: "65536.0", "6.1e-05", "nan", "inf", "-inf".
std::string float_text(double value);

/// A number as a user may write it: 65536, 2^16, 2**16, 0x1p16, 0.5, 6.1e-5, -1, inf, nan. Nothing for anything else.
std::optional<double> parse_number(std::string_view text);

/// `text` with control characters, escape sequences, invalid UTF-8, bidirectional and other invisible marks written as
/// \xNN or \u{NNNN}, and the backslash doubled: safe for a terminal, one line, and unambiguous.
std::string escaped(std::string_view text);

/// `text` as one word of a command line: as it is, or in quotes; safe for a terminal, and not to be escaped again.
std::string shell_word(std::string_view text);
/// The same of a path, which no command may take for an option.
std::string shell_path(std::string_view path);

bool is_utf8(std::string_view text);

std::string base64(std::string_view bytes);

}  // namespace tare
