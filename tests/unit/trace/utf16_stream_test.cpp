// Logs in UTF-16, as PowerShell's `>` leaves them.
#include "lib/trace/utf16_stream.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/byte_stream.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

enum class Order { little, big };

std::string bytes_of(std::u16string_view text, Order order) {
  std::string bytes;
  for (const char16_t unit : text) {
    const auto low = static_cast<char>(unit & 0xff), high = static_cast<char>(unit >> 8);
    bytes += order == Order::little ? std::string{low, high} : std::string{high, low};
  }
  return bytes;
}

/// Gives `piece` bytes at a time.
class Pieces final : public ByteStream {
 public:
  Pieces(std::string bytes, std::size_t piece) : bytes_(std::move(bytes)), piece_(piece) {}

  std::size_t read(std::span<std::byte> to) override {
    const std::size_t size = std::min({to.size(), piece_, bytes_.size() - at_});
    const auto from = as_bytes(bytes_).subspan(at_, size);
    std::copy(from.begin(), from.end(), to.begin());
    at_ += size;
    return size;
  }

 private:
  std::string bytes_;
  std::size_t piece_, at_ = 0;
};

std::string read_as_utf8(const std::string& bytes, std::size_t piece) {
  const auto stream = utf8_stream(std::make_unique<Pieces>(bytes, piece), as_bytes(bytes));
  std::string text;
  for (std::byte next{}; stream->read({&next, 1}) == 1;) text.push_back(static_cast<char>(next));
  return text;
}

}  // namespace

TEST_CASE("a log in UTF-16 is read as the same text, in either order and whatever the pieces that it comes in") {
  const std::u16string text = u"\ufeffscale 65536 \u00b5 \u635f\u5931 \U0001f525 \uffff\n";
  for (const Order order : {Order::little, Order::big}) {
    const std::string bytes = bytes_of(text, order);
    REQUIRE(starts_like_utf16(as_bytes(bytes)));
    for (const std::size_t piece : {1U, 2U, 3U, 5U, 1'000U}) {
      INFO(piece);
      CHECK(read_as_utf8(bytes, piece) == "scale 65536 \u00b5 \u635f\u5931 \U0001f525 \uffff\n");
    }
  }
}

TEST_CASE("a log in UTF-16 that is longer than what is read at once loses nothing") {
  std::u16string text = u"\ufeff";
  std::string wanted;
  for (int line = 0; line < 20'000; ++line) {
    text += u"\u635f\U0001f525x\n";
    wanted += "\u635f\U0001f525x\n";
  }
  CHECK(read_as_utf8(bytes_of(text, Order::little), 1'000'000) == wanted);
}

TEST_CASE("a log in UTF-16 that was cut within a character, or holds half of one, is read on") {
  const std::u16string halves{u'\ufeff', u'a', char16_t{0xd83d}, u'b', char16_t{0xdd25}, u'c', char16_t{0xd83d}};
  const std::string bytes = bytes_of(halves, Order::little);
  CHECK(read_as_utf8(bytes, 7) == "a\ufffdb\ufffdc\ufffd");
  CHECK(read_as_utf8(bytes.substr(0, 5), 1) == "a\ufffd");
}

TEST_CASE("bytes that begin like UTF-16 and hold zeros as numbers do, or have no mark, are not taken for text") {
  CHECK_FALSE(starts_like_utf16(as_bytes(std::string_view("\xff\xfe\x01\x00\x00\x00", 6))));
  CHECK_FALSE(starts_like_utf16(as_bytes(std::string_view("\xff\xfe", 2))));
  CHECK_FALSE(starts_like_utf16(as_bytes(std::string_view("s\0c\0", 4))));
  CHECK(starts_like_utf16(as_bytes(std::string_view("\xff\xfes\0", 4))));
}
