#include "lib/container/msgpack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/recognised.hpp"

namespace tare {
namespace {

/// What the bytes behind a lead byte are.
enum class Form : std::uint8_t { invalid, value, counted_bytes, items, pairs };

struct Lead {
  Form form = Form::invalid;
  std::uint8_t length_size = 0;  ///< bytes of the length or count; 0: it is `fixed`
  std::uint8_t fixed = 0;        ///< bytes that follow (value), or the length or count
  std::uint8_t type_size = 0;    ///< bytes between a length and its data: an extension's type
};

struct LeadRow {
  std::uint8_t first, last;
  Lead lead;  ///< `fixed` of ranges counts from here
};

constexpr auto lead_rows = std::to_array<LeadRow>({
    {0x00, 0x7f, {Form::value}},
    {0x80, 0x8f, {Form::pairs}},
    {0x90, 0x9f, {Form::items}},
    {0xa0, 0xbf, {Form::counted_bytes}},
    {0xc0, 0xc0, {Form::value}},
    {0xc2, 0xc3, {Form::value}},
    {0xc4, 0xc4, {Form::counted_bytes, 1}},
    {0xc5, 0xc5, {Form::counted_bytes, 2}},
    {0xc6, 0xc6, {Form::counted_bytes, 4}},
    {0xc7, 0xc7, {Form::counted_bytes, 1, 0, 1}},
    {0xc8, 0xc8, {Form::counted_bytes, 2, 0, 1}},
    {0xc9, 0xc9, {Form::counted_bytes, 4, 0, 1}},
    {0xca, 0xca, {Form::value, 0, 4}},
    {0xcb, 0xcb, {Form::value, 0, 8}},
    {0xcc, 0xcc, {Form::value, 0, 1}},
    {0xcd, 0xcd, {Form::value, 0, 2}},
    {0xce, 0xce, {Form::value, 0, 4}},
    {0xcf, 0xcf, {Form::value, 0, 8}},
    {0xd0, 0xd0, {Form::value, 0, 1}},
    {0xd1, 0xd1, {Form::value, 0, 2}},
    {0xd2, 0xd2, {Form::value, 0, 4}},
    {0xd3, 0xd3, {Form::value, 0, 8}},
    {0xd4, 0xd4, {Form::value, 0, 2}},
    {0xd5, 0xd5, {Form::value, 0, 3}},
    {0xd6, 0xd6, {Form::value, 0, 5}},
    {0xd7, 0xd7, {Form::value, 0, 9}},
    {0xd8, 0xd8, {Form::value, 0, 17}},
    {0xd9, 0xd9, {Form::counted_bytes, 1}},
    {0xda, 0xda, {Form::counted_bytes, 2}},
    {0xdb, 0xdb, {Form::counted_bytes, 4}},
    {0xdc, 0xdc, {Form::items, 2}},
    {0xdd, 0xdd, {Form::items, 4}},
    {0xde, 0xde, {Form::pairs, 2}},
    {0xdf, 0xdf, {Form::pairs, 4}},
    {0xe0, 0xff, {Form::value}},
});

Lead lead_of(std::byte byte) {
  const auto value = std::to_integer<std::uint8_t>(byte);
  for (const LeadRow& row : lead_rows) {
    if (value < row.first || value > row.last) continue;
    Lead lead = row.lead;
    const bool is_range = row.first != row.last && lead.form != Form::value;
    if (is_range) lead.fixed = static_cast<std::uint8_t>(value - row.first);
    return lead;
  }
  return {};
}

/// Hops over a file from length to length: data are never read.
class Skim {
 public:
  explicit Skim(const Source& source) : source_(source) {}

  void run() {
    std::uint64_t at = 0;
    std::vector<std::uint64_t> left = {1};
    while (!left.empty()) {
      if (left.back() == 0) {
        left.pop_back();
        continue;
      }
      --left.back();
      const std::uint64_t inside = step(at);
      if (inside == 0) continue;
      left.push_back(inside);
      if (left.size() <= limits::max_depth) continue;
      throw Error(Status::refused,
                  fmt::format("{}: msgpack nested more than {} deep", source_.name(), limits::max_depth));
    }
    if (at != source_.size()) fail(at, "is behind the end of the map");
  }

 private:
  [[noreturn]] void fail(std::uint64_t at, std::string_view problem) const {
    throw Error(Status::corrupt, fmt::format("{}: msgpack: what stands at offset {} {}", source_.name(), at, problem),
                "the file is cut short or damaged, or it is no msgpack");
  }

  /// `size` bytes at `at`, at most window - 1 of them.
  ByteView peek(std::uint64_t at, std::size_t size) {
    if (at >= source_.size() || size > source_.size() - at) fail(at, "passes the end");
    if (at < start_ || at + size > start_ + window_.size()) {
      start_ = at;
      window_ = source_.read({at, std::min(window_size, source_.size() - at)});
    }
    return ByteView(window_).subspan(at - start_, size);
  }

  /// Goes over one value, or into a collection; returns how many values stand in it.
  std::uint64_t step(std::uint64_t& at) {
    const Lead lead = lead_of(peek(at, 1)[0]);
    if (lead.form == Form::invalid) fail(at, "is no msgpack");
    std::uint64_t count = lead.fixed;
    if (lead.length_size > 0) {
      const ByteView bytes = peek(at, 1u + lead.length_size);
      count = 0;
      for (const std::byte byte : bytes.subspan(1)) count = count << 8 | std::to_integer<std::uint64_t>(byte);
    }
    const std::uint64_t from = at + 1 + lead.length_size + lead.type_size;
    const bool is_collection = lead.form == Form::items || lead.form == Form::pairs;
    const std::uint64_t values = lead.form == Form::pairs ? 2 * count : count;
    // Every value takes a byte at least: a count beyond the bytes left is a lie, told before anything is counted.
    if (from > source_.size() || (is_collection ? values : count) > source_.size() - from) fail(at, "passes the end");
    at = is_collection ? from : from + count;
    return is_collection ? values : 0;
  }

  static constexpr std::uint64_t window_size = 16 << 10;
  const Source& source_;
  Bytes window_;
  std::uint64_t start_ = 0;
};

}  // namespace

bool starts_like_msgpack(ByteView head) {
  if (head.empty()) return false;
  const Lead map = lead_of(head[0]);
  if (map.form != Form::pairs || head[0] == std::byte{0x80} || head.size() < 2u + map.length_size) return false;
  const auto key = std::to_integer<unsigned>(head[1u + map.length_size]);
  return (key >= 0xa0 && key <= 0xbf) || (key >= 0xd9 && key <= 0xdb);
}

std::unique_ptr<Container> open_msgpack(const std::shared_ptr<const Source>& source) {
  Skim(*source).run();
  return recognised("msgpack", "msgpack");
}

}  // namespace tare
