#include "lib/trace/utf16_stream.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <utility>

#include "lib/base/utf8.hpp"

namespace tare {

namespace {

constexpr char32_t byte_order_mark = 0xfeff, replacement = 0xfffd;

bool is_first_half(char32_t unit) {
  return unit >= 0xd800 && unit < 0xdc00;
}

bool is_second_half(char32_t unit) {
  return unit >= 0xdc00 && unit < 0xe000;
}

char32_t unit_at(ByteView bytes, std::size_t at, std::endian order) {
  const auto first = std::to_integer<char32_t>(bytes[at]), second = std::to_integer<char32_t>(bytes[at + 1]);
  return order == std::endian::little ? second << 8U | first : first << 8U | second;
}

std::optional<std::endian> order_of(ByteView head) {
  if (head.size() < 2) return std::nullopt;
  for (const std::endian order : {std::endian::little, std::endian::big}) {
    if (unit_at(head, 0, order) == byte_order_mark) return order;
  }
  return std::nullopt;
}

class Utf8Stream final : public ByteStream {
 public:
  Utf8Stream(std::unique_ptr<ByteStream> utf16, std::endian order) : utf16_(std::move(utf16)), order_(order) {}

  std::size_t read(std::span<std::byte> to) override {
    while (at_ == made_.size() && !is_over_) make_more();
    const std::size_t size = std::min(to.size(), made_.size() - at_);
    const auto from = as_bytes(made_).subspan(at_, size);
    std::copy(from.begin(), from.end(), to.begin());
    at_ += size;
    return size;
  }

  [[nodiscard]] std::string problem() const override { return utf16_->problem(); }

 private:
  void make_more() {
    made_.clear();
    at_ = 0;
    const std::size_t more = utf16_->read(std::span(taken_).subspan(left_));
    is_over_ = more == 0;
    const ByteView bytes = ByteView(taken_).first(left_ + more);
    std::size_t next = 0;
    for (; next + 2 <= bytes.size(); next += 2) take(unit_at(bytes, next, order_));
    left_ = bytes.size() - next;
    if (left_ == 1) taken_[0] = bytes[next];
    if (is_over_ && (first_half_ || left_ > 0)) append(replacement);
  }

  void take(char32_t unit) {
    const auto first = std::exchange(first_half_, std::nullopt);
    if (first && is_second_half(unit)) return append(0x10000 + ((*first - 0xd800) << 10U) + (unit - 0xdc00));
    if (first) append(replacement);
    if (is_first_half(unit)) {
      first_half_ = unit;
    } else if (unit != byte_order_mark) {
      append(is_second_half(unit) ? replacement : unit);
    }
  }

  void append(char32_t point) { append_utf8(made_, point); }

  std::unique_ptr<ByteStream> utf16_;
  std::endian order_;
  std::array<std::byte, std::size_t{32} << 10> taken_{};
  std::size_t left_ = 0;  ///< 1: half a unit, in front
  std::optional<char32_t> first_half_;
  std::string made_;
  std::size_t at_ = 0;
  bool is_over_ = false;
};

}  // namespace

bool starts_like_utf16(ByteView head) {
  const auto order = order_of(head);
  constexpr std::size_t looked_at = 4096;
  const ByteView text = head.first(std::min(head.size(), looked_at));
  if (!order || text.size() < 4) return false;
  for (std::size_t at = 2; at + 2 <= text.size(); at += 2) {
    if (unit_at(text, at, *order) == 0) return false;
  }
  return true;
}

std::unique_ptr<ByteStream> utf8_stream(std::unique_ptr<ByteStream> utf16, ByteView head) {
  return std::make_unique<Utf8Stream>(std::move(utf16), order_of(head).value_or(std::endian::little));
}

}  // namespace tare
