// What stands in a pickle where another value stood: each opcode that was there, with values at each edge.
#include "lib/container/pickle/write/encode.hpp"

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

namespace {

std::string like(const std::string& old, const NewNumber& value) {
  const Bytes bytes = bytes_of(old);
  return std::string(as_text(encode_like(PickleScanner(bytes, "x").next(), value)));
}

NewNumber whole(std::int64_t value) {
  return Integer{value, {}};
}

}  // namespace

TEST_CASE("an int keeps its opcode while that holds it, and else gets the smallest, as CPython chooses") {
  struct Case {
    std::string old;
    std::int64_t value;
    std::string now;
  };
  const Case cases[] = {
      {"K\1"s, 0, "K\0"s},
      {"K\1"s, 255, "K\xff"s},
      {"K\1"s, 256, "M\0\1"s},
      {"K\1"s, 65535, "M\xff\xff"s},
      {"K\1"s, 65536, "J\0\0\1\0"s},
      {"K\1"s, -1, "J\xff\xff\xff\xff"s},
      {"K\1"s, 2147483647, "J\xff\xff\xff\x7f"s},
      {"K\1"s, -2147483648LL, "J\0\0\0\x80"s},
      {"K\1"s, 2147483648LL, "\x8a\5\0\0\0\x80\0"s},
      {"K\1"s, -2147483649LL, "\x8a\5\xff\xff\xff\x7f\xff"s},
      {"M\1\1"s, 3, "M\3\0"s},
      {"M\1\1"s, 0, "M\0\0"s},
      {"M\1\1"s, 65535, "M\xff\xff"s},
      {"M\1\1"s, 65536, "J\0\0\1\0"s},
      {"M\1\1"s, -1, "J\xff\xff\xff\xff"s},
      {"J\1\1\1\1"s, 3, "J\3\0\0\0"s},
      {"J\1\1\1\1"s, -2147483648LL, "J\0\0\0\x80"s},
      {"J\1\1\1\1"s, 2147483647, "J\xff\xff\xff\x7f"s},
      {"J\1\1\1\1"s, 2147483648LL, "\x8a\5\0\0\0\x80\0"s},
      {"\x8a\2\1\1"s, 127, "\x8a\2\x7f\0"s},
      {"\x8a\2\1\1"s, -1, "\x8a\2\xff\xff"s},
      {"\x8a\2\1\1"s, 32767, "\x8a\2\xff\x7f"s},
      {"\x8a\2\1\1"s, -32768, "\x8a\2\0\x80"s},
      {"\x8a\2\1\1"s, 32768, "M\0\x80"s},
      {"\x8a\2\1\1"s, -32769, "J\xff\x7f\xff\xff"s},
      {"I7\n"s, 12, "I12\n"s},
      {"I7\n"s, -1, "I-1\n"s},
      {"L7L\n"s, 12, "L12L\n"s},
      {"G\0\0\0\0\0\0\0\0"s, 7, "K\7"s},
      {"\x88"s, 7, "K\7"s},
  };
  for (const auto& [old, value, now] : cases) {
    INFO(static_cast<int>(old[0]) << " becomes " << value);
    CHECK(like(old, whole(value)) == now);
  }
  CHECK(status_of([] { like("K\1"s, Integer{0, "99999999999999999999"}); }) == Status::refused);
}

TEST_CASE("floats and flags are written as text where text stood, and as opcodes elsewhere") {
  CHECK(like("K\1"s, 0.5) == "G\x3f\xe0\0\0\0\0\0\0"s);
  CHECK(like("G\0\0\0\0\0\0\0\0"s, -2.0) == "G\xc0\0\0\0\0\0\0\0"s);
  CHECK(like("F1.5\n"s, 0.25) == "F0.25\n");
  CHECK(like("I7\n"s, 0.25) == "F0.25\n");
  CHECK(like("\x88"s, true) == "\x88");
  CHECK(like("\x88"s, false) == "\x89");
  CHECK(like("K\1"s, true) == "\x88");
  CHECK(like("I01\n"s, true) == "I01\n");
  CHECK(like("I01\n"s, false) == "I00\n");
  CHECK(like("I7\n"s, false) == "I00\n");
}

TEST_CASE("a text keeps its opcode while its length fits, and one that is a line is not changed") {
  const auto text_like = [](const std::string& old, const std::string& text) {
    const Bytes bytes = bytes_of(old);
    return std::string(as_text(encode_text_like(PickleScanner(bytes, "x").next(), text)));
  };
  CHECK(text_like("\x8c\1a"s, "bc") == "\x8c\2bc");
  CHECK(text_like("\x8c\1a"s, "") == "\x8c\0"s);
  CHECK(text_like("\x8c\1a"s, std::string(255, 'x')) == "\x8c\xff" + std::string(255, 'x'));
  CHECK(text_like("\x8c\1a"s, std::string(256, 'x')) == "X\0\1\0\0"s + std::string(256, 'x'));
  CHECK(text_like("X\1\0\0\0a"s, "bc") == "X\2\0\0\0bc"s);
  for (const std::string& old : {"Va\n"s, "U\1a"s, "S'a'\n"s, "\x8d\1\0\0\0\0\0\0\0a"s}) {
    CHECK(status_of([&] { text_like(old, "b"); }) == Status::refused);
  }
}

TEST_CASE("bytes stand in the opcode that was there, as latin-1 where that is one of texts, if their number fits") {
  const auto bytes_like = [](const std::string& old, const std::string& contents) {
    const Bytes bytes = bytes_of(old);
    return std::string(as_text(encode_bytes_like(PickleScanner(bytes, "x").next(), as_bytes(contents))));
  };
  CHECK(bytes_like("C\1a"s, "\xff\0"s) == "C\2\xff\0"s);
  CHECK(bytes_like("C\1a"s, std::string(255, 'x')) == "C\xff" + std::string(255, 'x'));
  CHECK(status_of([&] { bytes_like("C\1a"s, std::string(256, 'x')); }) == Status::refused);
  CHECK(bytes_like("B\1\0\0\0a"s, std::string(256, 'x')) == "B\0\1\0\0"s + std::string(256, 'x'));
  CHECK(bytes_like("\x8e\1\0\0\0\0\0\0\0a"s, "bc") == "\x8e\2\0\0\0\0\0\0\0bc"s);
  CHECK(bytes_like("X\1\0\0\0a"s, "\x7f\x80\xff"s) == "X\5\0\0\0\x7f\xc2\x80\xc3\xbf"s);
  CHECK(bytes_like("\x8c\1a"s, "\xe9") == "\x8c\2\xc3\xa9"s);
  CHECK(status_of([&] { bytes_like("\x8c\1a"s, std::string(128, '\xe9')); }) == Status::refused);
  CHECK_THROWS_WITH(bytes_like("S'a'\n"s, "b"), "an array written as text lines is not changed");
}

TEST_CASE("an int of two's complement takes as many bytes as hold its sign, too") {
  for (int bytes = 1; bytes < 8; ++bytes) {
    const std::int64_t half = std::int64_t{1} << (8 * bytes - 1);
    INFO(bytes);
    CHECK(two_complement_size(half - 1) == static_cast<std::size_t>(bytes));
    CHECK(two_complement_size(-half) == static_cast<std::size_t>(bytes));
    CHECK(two_complement_size(half) == static_cast<std::size_t>(bytes + 1));
    CHECK(two_complement_size(-half - 1) == static_cast<std::size_t>(bytes + 1));
  }
  CHECK(two_complement_size(0) == 1);
  CHECK(two_complement_size(-1) == 1);
  CHECK(two_complement_size(INT64_MAX) == 8);
  CHECK(two_complement_size(INT64_MIN) == 8);
  CHECK(as_text(encode_long1(-2, 4)) == "\x8a\4\xfe\xff\xff\xff"s);
  CHECK(as_text(encode_long1(2, 4)) == "\x8a\4\2\0\0\0"s);
}
