#include "lib/container/pickle/read/scan_ahead.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/pickle/read/opcode.hpp"

namespace tare {
namespace {

constexpr std::uint64_t first_window = 16 << 10;
/// A step that gives this cannot be taken.
constexpr std::uint64_t stuck = 0;

}  // namespace

bool ScanAhead::reach(std::uint64_t size) {
  if (size <= bytes_.size()) return true;
  if (size > source_.size()) return false;
  if (size > limits::max_pickle_bytes) {
    throw Error(Status::refused, fmt::format("{}: its pickles take more than {} bytes, the limit", source_.name(),
                                             limits::max_pickle_bytes));
  }
  const std::uint64_t old_size = bytes_.size();
  const std::uint64_t wanted = std::max({size, 2 * old_size, first_window});
  bytes_.resize(std::min(wanted, source_.size()));
  source_.read(old_size, std::span(bytes_).subspan(old_size));
  return true;
}

std::uint64_t ScanAhead::counted(std::uint64_t at, std::uint64_t length_bytes) {
  const std::uint64_t from = at + 1 + length_bytes;
  if (!reach(from)) return stuck;
  const std::uint64_t length = count_of(ByteView(bytes_).subspan(at + 1, length_bytes));
  return length <= source_.size() && reach(from + length) ? from + length : stuck;
}

std::uint64_t ScanAhead::line(std::uint64_t at) {
  for (std::uint64_t from = at; reach(from + 1);) {
    const auto newline = std::find(bytes_.begin() + static_cast<std::ptrdiff_t>(from), bytes_.end(), std::byte{'\n'});
    if (newline != bytes_.end()) return static_cast<std::uint64_t>(newline - bytes_.begin()) + 1;
    if (bytes_.size() - at > limits::max_small_text_bytes) return stuck;
    from = bytes_.size();
  }
  return stuck;
}

/// Where the opcode behind the one at `at` starts.
std::uint64_t ScanAhead::step(std::uint64_t at) {
  const OpcodeFacts& known = facts(static_cast<Opcode>(bytes_[at]));
  switch (known.argument) {
    case Argument::invalid:
      return stuck;
    case Argument::fixed:
      return reach(at + 1 + known.size) ? at + 1 + known.size : stuck;
    case Argument::counted:
      return counted(at, known.size);
    case Argument::line:
      return line(at + 1);
    case Argument::two_lines: {
      const std::uint64_t second = line(at + 1);
      return second == stuck ? stuck : line(second);
    }
  }
  return stuck;
}

std::uint64_t ScanAhead::end_of(std::uint64_t begin) {
  std::uint64_t at = begin;
  while (reach(at + 1)) {
    const bool is_stop = bytes_[at] == static_cast<std::byte>(Opcode::stop);
    const std::uint64_t next = step(at);
    if (next == stuck) return bytes_.size();
    if (is_stop) return next;
    at = next;
  }
  return bytes_.size();
}

}  // namespace tare
