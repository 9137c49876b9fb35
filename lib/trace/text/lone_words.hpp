// Which of the lines that tell no step are one series: those whose words are the same.
#pragma once

#include <string>
#include <string_view>

namespace tare {

/// The letters of a line up to `name`, without what differs from line to line: numbers (nan and inf are some), times.
std::string words_before(std::string_view line, std::string_view name);

}  // namespace tare
