#include "lib/remote/content_range.hpp"

#include <charconv>

namespace tare {
namespace {

constexpr std::uint64_t largest_object = std::uint64_t{1} << 62;

/// Takes a number off the front of `text`.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || number > largest_object) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

}  // namespace

std::optional<ContentRange> parse_content_range(std::string_view text) {
  if (!take(text, "bytes ")) return std::nullopt;
  ContentRange found;
  if (!take(text, "*")) {
    const auto first = take_number(text);
    const auto last = first && take(text, "-") ? take_number(text) : std::nullopt;
    if (!last || *last < *first) return std::nullopt;
    found.range = {*first, *last - *first + 1};
  }
  if (found.range.size > 0 && text == "/*") return found;
  found.total = take(text, "/") ? take_number(text) : std::nullopt;
  if (!found.total || !text.empty() || found.range.end() > *found.total) return std::nullopt;
  return found;
}

}  // namespace tare
