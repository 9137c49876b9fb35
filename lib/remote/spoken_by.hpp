// What another program prints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/bytes.hpp"

namespace tare {

/// The words of a command: parted by blanks, or held together by quotes of either kind. A backslash outside of them
/// takes what follows as it is, and one in double quotes another one and a quote. No shell has a say.
std::vector<std::string> words_of_command(std::string_view command);

/// All that the program prints before it ends; it shares our stderr and nothing else. It is named by its whole path, or
/// found in PATH's whole ones. Throws `io` where it cannot be started, fails, or prints more than that, `refused` where
/// a relative path names it.
Bytes spoken_by(std::vector<std::string> words, std::uint64_t most_bytes);

}  // namespace tare
