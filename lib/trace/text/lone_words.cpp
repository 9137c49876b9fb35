#include "lib/trace/text/lone_words.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace tare {

namespace {

constexpr std::array<std::string_view, 6> numbers_in_words = {"nan", "NaN", "NAN", "inf", "Inf", "INF"};

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

}  // namespace

std::string words_before(std::string_view line, std::string_view name) {
  line = line.substr(0, line.find(name));
  std::string words;
  for (std::size_t at = 0; at < line.size();) {
    const auto end = static_cast<std::size_t>(
        std::find_if_not(line.begin() + static_cast<std::ptrdiff_t>(at), line.end(), is_of_word) - line.begin());
    const std::string_view word = line.substr(at, end - at);
    const bool is_number = std::ranges::find(numbers_in_words, word) != numbers_in_words.end();
    if (!word.empty() && is_letter(word.front()) && !is_number) {
      std::ranges::copy_if(word, std::back_inserter(words), is_letter);
    }
    at = end + 1;
  }
  return words;
}

}  // namespace tare
