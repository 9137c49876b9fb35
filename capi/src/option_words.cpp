#include "capi/src/option_words.hpp"

#include <algorithm>
#include <array>

#include "lib/base/letters.hpp"

namespace tare::capi {
namespace {

struct FlagWord {
  std::string_view flag;
  std::string_view key;
};

constexpr auto flag_words = std::to_array<FlagWord>({
    {"--align", "\"align\""},
    {"--at", "\"at\""},
    {"--content-addressed", "\"content_addressed\""},
    {"--force", "\"force\""},
    {"--fp8", "\"fp8\""},
    {"--hard-links", "\"hard_links\""},
    {"--into", "\"into\""},
    {"--into-at", "\"into_at\""},
    {"--layer", "\"layer\""},
    {"--module", "\"modules\""},
    {"--to", "\"to\""},
    {"--trust-journal", "\"trust_journal\""},
});

/// Of a flag from its dashes on.
std::size_t flag_length(std::string_view text) {
  const auto is_of_flag = [](char letter) {
    return letter == '-' || (letter >= 'a' && letter <= 'z') || is_digit(letter);
  };
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_of_flag) - text.begin());
}

/// Where the first flag begins that is in the table; the text's end where there is none.
std::size_t begin_of_flag(std::string_view advice) {
  bool is_command = false;
  for (std::size_t i = 0; i < advice.size(); ++i) {
    if (advice[i] == '`') is_command = !is_command;
    const std::string_view flag = advice.substr(i, flag_length(advice.substr(i)));
    if (!is_command && std::ranges::find(flag_words, flag, &FlagWord::flag) != flag_words.end()) return i;
    if (!flag.empty()) i += flag.size() - 1;
  }
  return advice.size();
}

}  // namespace

AdvicePiece first_piece(std::string_view advice) {
  const std::size_t begin = begin_of_flag(advice);
  if (begin > 0) return {advice.substr(0, begin), advice.substr(0, begin)};
  const std::string_view flag = advice.substr(0, flag_length(advice));
  return {flag, std::ranges::find(flag_words, flag, &FlagWord::flag)->key};
}

}  // namespace tare::capi
