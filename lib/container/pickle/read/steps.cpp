#include "lib/container/pickle/read/steps.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/limits.hpp"

namespace tare {
namespace {

constexpr std::uint64_t least_step_window = 4096;
constexpr std::uint64_t line_bytes = 64 << 10;  ///< of a line that is longer than a window

}  // namespace

ByteView PickleSteps::ahead(std::uint64_t from, std::uint64_t wanted) {
  const ByteView read = at_least(from, wanted);
  return read.first(std::min<std::uint64_t>(wanted, read.size()));
}

ByteView PickleSteps::at_least(std::uint64_t from, std::uint64_t wanted) {
  from = std::min(from, source_.size());
  wanted = std::min(wanted, source_.size() - from);
  if (from < window_at_ || from + wanted > window_at_ + window_.size()) {
    window_ = source_.read({from, std::min(std::max(wanted, least_step_window), source_.size() - from)});
    window_at_ = from;
  }
  return ByteView(window_).subspan(from - window_at_);
}

std::optional<std::uint64_t> PickleSteps::counted(std::uint64_t length_bytes) {
  const ByteView count = ahead(at_ + 1, length_bytes);
  if (count.size() < length_bytes) return std::nullopt;
  const std::uint64_t length = count_of(count);
  const std::uint64_t from = at_ + 1 + length_bytes;
  return length <= source_.size() - from ? std::optional(from + length) : std::nullopt;
}

std::optional<std::uint64_t> PickleSteps::line_end(std::uint64_t from) {
  for (std::uint64_t at = from; at < source_.size();) {
    if (at - from > limits::max_pickle_bytes) {
      is_too_long_ = true;
      return std::nullopt;
    }
    const ByteView part = at_least(at, at == from ? 1 : line_bytes);
    const auto newline = std::find(part.begin(), part.end(), std::byte{'\n'});
    at += static_cast<std::uint64_t>(newline - part.begin());
    if (newline != part.end()) return at + 1;
  }
  return source_.size();
}

std::optional<PickleSteps::Step> PickleSteps::next() {
  const ByteView head = ahead(at_, 1);
  if (head.empty()) return std::nullopt;
  const auto code = static_cast<Opcode>(head.front());
  const OpcodeFacts& known = facts(code);
  std::optional<std::uint64_t> end;
  switch (known.argument) {
    case Argument::invalid:
      return std::nullopt;
    case Argument::fixed:
      if (known.size <= source_.size() - at_ - 1) end = at_ + 1 + known.size;
      break;
    case Argument::counted:
      end = counted(known.size);
      break;
    case Argument::line:
      end = line_end(at_ + 1);
      break;
    case Argument::two_lines:
      end = line_end(at_ + 1);
      if (end) end = line_end(*end);
      break;
  }
  if (!end) return std::nullopt;
  Step step{code, at_, *end, false};
  if (known.argument == Argument::line || known.argument == Argument::two_lines) {
    step.is_cut = step.end == at_ + 1 || ahead(step.end - 1, 1).front() != std::byte{'\n'};
  }
  at_ = step.end;
  return step;
}

PickleSteps::Step PickleSteps::at(std::uint64_t begin) {
  const std::uint64_t position = std::exchange(at_, begin);
  const Step step = next().value();
  at_ = position;
  return step;
}

std::string PickleSteps::argument(const Step& step, std::uint64_t most) {
  return std::string(as_text(ahead(step.begin + 1, std::min(most, step.end - step.begin - 1))));
}

}  // namespace tare
