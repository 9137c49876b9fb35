#include "lib/container/pickle/read/elided_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/pickle/read/opcode.hpp"

namespace tare {
namespace {

constexpr std::uint64_t least_text_window = 4096;

class ElidedTextReader {
 public:
  ElidedTextReader(const Source& source, std::uint64_t left_out_from, Bytes& text)
      : source_(source), left_out_from_(left_out_from), text_(text) {}

  void copy(std::uint64_t size) {
    if (text_.size() + size > limits::max_pickle_bytes) {
      throw Error(Status::refused,
                  fmt::format("{}: a pickle of more than {} bytes, the limit, without its large arrays", source_.name(),
                              limits::max_pickle_bytes));
    }
    const ByteView run = ahead(size);
    if (run.size() < size) fail("ends before STOP");
    text_.insert(text_.end(), run.begin(), run.end());
    at_ += size;
  }

  /// Copies the next opcode, or its head alone. How many bytes were left out, or nothing behind STOP.
  std::optional<std::uint64_t> take() {
    if (ahead(1).empty()) fail("ends before STOP");
    const std::byte opcode = ahead(1).front();
    const auto code = static_cast<Opcode>(opcode);
    const auto [counting, argument] = argument_sizes(opcode);
    if (code == Opcode::frame) {
      const ByteView frame = ahead(1 + argument);
      if (frame.size() > argument) frame_end_ = at_ + 1 + argument + load_le<std::uint64_t>(frame.data() + 1);
    }
    // What frames hold cannot be left out: their lengths would not hold.
    const bool is_left_out = counting >= 4 && argument >= left_out_from_ && at_ >= frame_end_;
    if (!is_left_out) {
      copy(1 + counting + argument);
      return code == Opcode::stop ? std::nullopt : std::optional<std::uint64_t>(0);
    }
    if (argument > source_.size() - std::min(source_.size(), at_ + 1 + counting)) {
      fail(fmt::format("an argument of {} bytes passes the end", argument));
    }
    text_.push_back(opcode);
    text_.resize(text_.size() + counting);
    at_ += 1 + counting + argument;
    return argument;
  }

 private:
  struct Sizes {
    std::uint64_t counting;  ///< bytes of the length
    std::uint64_t argument;  ///< bytes behind that
  };

  [[noreturn]] void fail(std::string_view problem) const { fail_pickle(source_.name(), at_, problem); }

  /// The next `size` bytes, fewer at the end of the file; more are kept for the next call. Valid until that.
  ByteView ahead(std::uint64_t size) {
    size = std::min(size, source_.size() - std::min(source_.size(), at_));
    if (at_ < window_at_ || at_ + size > window_at_ + window_.size()) {
      window_ = source_.read({at_, std::min(std::max(size, least_text_window), source_.size() - at_)});
      window_at_ = at_;
    }
    return ByteView(window_).subspan(at_ - window_at_, size);
  }

  Sizes argument_sizes(std::byte opcode) {
    const OpcodeFacts& known = facts(static_cast<Opcode>(opcode));
    switch (known.argument) {
      case Argument::fixed:
        return {0, known.size};
      case Argument::counted:
        return counted(known.size);
      case Argument::line:
        return {0, line_end(1) - 1};
      case Argument::two_lines:
        return {0, line_end(line_end(1)) - 1};
      case Argument::invalid:
        break;
    }
    fail_opcode(source_.name(), at_, opcode);
  }

  Sizes counted(std::uint64_t counting) {
    const ByteView head = ahead(1 + counting);
    if (head.size() <= counting) fail("the length of an argument passes the end");
    const std::uint64_t length = count_of(head.subspan(1));
    if (length > source_.size()) fail(fmt::format("an argument of {} bytes passes the end", length));
    return {counting, length};
  }

  /// One behind the newline at or behind `from`, counted from here.
  std::uint64_t line_end(std::uint64_t from) {
    for (std::uint64_t size = from + 64; size < limits::max_small_text_bytes; size *= 2) {
      const ByteView line = ahead(size);
      const auto newline =
          std::find(line.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(from, line.size())), line.end(),
                    std::byte{'\n'});
      if (newline != line.end()) return static_cast<std::uint64_t>(newline - line.begin()) + 1;
      if (line.size() < size) break;
    }
    fail("a line that never ends");
  }

  const Source& source_;
  std::uint64_t left_out_from_;
  Bytes& text_;
  std::uint64_t at_ = 0;
  std::uint64_t frame_end_ = 0;
  Bytes window_;
  std::uint64_t window_at_ = 0;
};

}  // namespace

ElidedText::ElidedText(const Source& source, std::uint64_t begin, ElidedTextSizes sizes) {
  if (source.size() <= sizes.most_whole) {
    text_ = std::make_shared<const Bytes>(source.read({0, source.size()}));
    return;
  }
  auto text = std::make_shared<Bytes>();
  ElidedTextReader reader(source, sizes.left_out_from, *text);
  reader.copy(begin);
  for (auto left_out = reader.take(); left_out; left_out = reader.take()) {
    if (*left_out > 0) gaps_.push_back({text->size(), *left_out});
  }
  text_ = std::move(text);
}

std::uint64_t ElidedText::in_file(std::uint64_t offset) const {
  std::uint64_t shift = 0;
  for (const Gap& gap : gaps_) {
    if (gap.offset > offset) break;
    shift += gap.size;
  }
  return offset + shift;
}

FileChange ElidedText::placed(FileChange change) const {
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t end = 0;
  const auto place = [&](auto& run) {
    first = std::min(first, run.offset);
    end = std::max(end, run.offset + run.before.size());
    run.offset = in_file(run.offset);
  };
  std::for_each(change.patches.begin(), change.patches.end(), place);
  if (change.splice) place(*change.splice);
  const auto is_between = [&](const Gap& gap) { return gap.offset > first && gap.offset < end; };
  if (std::any_of(gaps_.begin(), gaps_.end(), is_between)) {
    throw Error(Status::refused, "large arrays stand between the values that would change",
                "edit one value after the other");
  }
  return change;
}

}  // namespace tare
