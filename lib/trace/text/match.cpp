#include "lib/trace/text/match.hpp"

#include <algorithm>
#include <cmath>

namespace tare {

namespace {

constexpr std::size_t most_in_a_line = 256;

/// Whether one of several texts, with ';' between them, does.
bool stands_in(std::string_view texts, std::string_view text) {
  for (;;) {
    const std::size_t end = std::min(texts.find(';'), texts.size());
    if (text.find(texts.substr(0, end)) != text.npos) return true;
    if (end == texts.size()) return false;
    texts.remove_prefix(end + 1);
  }
}

bool fits(const LineShape& shape, std::string_view text) {
  return (shape.also.empty() || stands_in(shape.also, text)) &&
         (shape.without.empty() || !stands_in(shape.without, text));
}

bool may_tell_scale(std::string_view text) {
  return std::ranges::any_of(scale_triggers, [&](std::string_view word) { return text.find(word) != text.npos; });
}

std::vector<const LineShape*> shapes_of(bool (*takes)(Meaning)) {
  std::vector<const LineShape*> shapes;
  std::ranges::copy_if(line_shapes(), std::back_inserter(shapes), takes, &LineShape::meaning);
  return shapes;
}

/// Lines with a step of their own are of one shape; beside them stands at most the message of an overflow.
bool is_alone(const LineShape& shape, std::string_view text) {
  if (shape.meaning == Meaning::aside) return true;
  const bool is_numbered = shape.meaning == Meaning::report || shape.meaning == Meaning::moment;
  return is_numbered && !stands_in("OVERFLOW", text) && !stands_in("overflow!", text) &&
         !stands_in("verflow detected", text);
}

bool is_lost(const Facts& facts) {
  return !std::isfinite(facts.get(Fact::loss).value_or(0));
}

/// What fits where no surer shape does, and has no step, is tried last in the next line, too.
bool is_likely_next(const Facts& facts) {
  const LineShape& shape = *facts.shape;
  const bool needs_no_step = shape.meaning != Meaning::moment || !shape.is_last_resort;
  return !shape.is_lone && (needs_no_step || facts.has(Fact::step));
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
    if (at >= from && !is_taken(at) && fits(shape, region)) {
      // A line may have several losses, of which the first need not be the step's.
      const bool is_aside = shape.meaning == Meaning::aside;
      if (auto facts = read_facts(shape, line, is_aside ? text.substr(from) : region, at - from, end)) {
        const bool is_lone_loss = is_aside && shape.is_lone;
        if (!is_found || !is_lone_loss) {
          matches_.push_back({std::move(*facts), at});
        } else if (is_lost(*facts)) {  // of one step, however many losses it names, this is the one that counts
          matches_.back().facts = std::move(*facts);
        }
        if ((is_aside || shape.is_lone) && !is_lone_loss) return true;
        from += end;
        is_found = true;
      }
    }
    at = next;
  }
  return is_found;
}

void Matcher::look_for(const Shapes& shapes, const LineShape*& favourite, const Line& line) {
  if (favourite != nullptr && find_all(*favourite, line) && is_alone(*favourite, line.text)) return;
  for (const LineShape* shape : shapes) {
    if (shape == favourite && !matches_.empty()) continue;
    if (shape->is_last_resort && !matches_.empty()) continue;
    if (!find_all(*shape, line)) continue;
    if (is_likely_next(matches_.back().facts)) favourite = shape;
    if (is_alone(*shape, line.text)) return;
  }
}

const std::vector<Facts>& Matcher::match(const Line& line) {
  static const Shapes of_scales = shapes_of([](Meaning meaning) { return !is_of_losses(meaning); });
  static const Shapes of_losses = shapes_of([](Meaning meaning) { return is_of_losses(meaning); });
  matches_.clear();
  found_.clear();
  if (may_tell_scale(line.text)) look_for(of_scales, favourite_, line);
  if (matches_.empty()) look_for(of_losses, favourite_aside_, line);
  std::sort(matches_.begin(), matches_.end(), [](const Match& a, const Match& b) { return a.at < b.at; });
  for (Match& match : matches_) found_.push_back(match.facts);
  return found_;
}

}  // namespace tare
