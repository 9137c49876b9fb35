#include "lib/trace/text/match.hpp"

#include <algorithm>

namespace tare {

namespace {

constexpr std::size_t most_in_a_line = 256;

bool stands_in(std::string_view words, std::string_view text) {
  return words.empty() || text.find(words) != text.npos;
}

bool fits(const LineShape& shape, std::string_view text) {
  return stands_in(shape.also, text) && (shape.without.empty() || !stands_in(shape.without, text));
}

/// Lines with a step of their own are of one shape; beside them stands at most the message of an overflow.
bool is_alone(const LineShape& shape, std::string_view text) {
  const bool is_numbered = shape.meaning == Meaning::report || shape.meaning == Meaning::moment;
  return is_numbered && !stands_in("OVERFLOW", text) && !stands_in("overflow!", text) &&
         !stands_in("verflow detected", text);
}

}  // namespace

bool Matcher::is_taken(std::size_t at) const {
  return std::any_of(matches_.begin(), matches_.end(), [&](const Match& match) { return match.at == at; });
}

bool Matcher::find_all(const LineShape& shape, const Line& line) {
  const std::string_view text = line.text;
  std::size_t from = 0;
  bool is_found = false;
  for (std::size_t at = text.find(shape.needle); at != text.npos && matches_.size() < most_in_a_line;) {
    const std::size_t next = text.find(shape.needle, at + shape.needle.size());
    const std::string_view region = text.substr(from, std::min(next, text.size()) - from);
    std::size_t end = 0;
    if (!is_taken(at) && fits(shape, region)) {
      if (auto facts = read_facts(shape, line, region, at - from, end)) {
        matches_.push_back({std::move(*facts), at});
        from += end;
        is_found = true;
      }
    }
    at = next;
  }
  return is_found;
}

const std::vector<Facts>& Matcher::match(const Line& line) {
  matches_.clear();
  found_.clear();
  const bool is_settled = favourite_ != nullptr && find_all(*favourite_, line) && is_alone(*favourite_, line.text);
  if (!is_settled) {
    for (const LineShape* shape : line_shapes()) {
      if (shape == favourite_ && !matches_.empty()) continue;
      if (shape->is_last_resort && !matches_.empty()) continue;
      if (!find_all(*shape, line)) continue;
      favourite_ = shape;
      if (is_alone(*shape, line.text)) break;
    }
    std::sort(matches_.begin(), matches_.end(), [](const Match& a, const Match& b) { return a.at < b.at; });
  }
  for (Match& match : matches_) found_.push_back(match.facts);
  return found_;
}

}  // namespace tare
