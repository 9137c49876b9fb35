#include "lib/trace/text/lone_losses.hpp"

#include <algorithm>

#include "lib/trace/text/lone_words.hpp"

namespace tare {

namespace {

constexpr std::size_t least_losses = 3;
constexpr std::size_t most_kinds = 16;
constexpr std::string_view end_of_loss_name = "oss";  // every name of a loss has it

}  // namespace

void LoneLosses::take(std::string_view line, const TraceStep& step) {
  std::string words = words_before(line, end_of_loss_name);
  const auto known = of_words_.find(words);
  if (known != of_words_.end()) {
    known->second.push_back(step);
  } else if (of_words_.size() < most_kinds) {
    of_words_[std::move(words)].push_back(step);
  }
}

const TraceSteps& LoneLosses::steps() const {
  static const TraceSteps none;
  const auto most = std::ranges::max_element(of_words_, {}, [](const auto& one) { return one.second.size(); });
  return most == of_words_.end() || most->second.size() < least_losses ? none : most->second;
}

}  // namespace tare
