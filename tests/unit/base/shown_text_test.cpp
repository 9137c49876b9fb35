// What may be shown of names and addresses that strangers chose, and which names a pattern chooses.
#include <cerrno>
#include <new>
#include <string>

#include "lib/base/error.hpp"
#include "lib/base/glob.hpp"
#include "lib/base/shown_url.hpp"
#include "lib/base/text.hpp"
#include "lib/base/utf8.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

std::string utf8_of(std::uint32_t point) {
  std::string text;
  append_utf8(text, point);
  return text;
}

}  // namespace

TEST_CASE("characters are told from bytes that only look like them, at every edge of what UTF-8 has") {
  for (const char* text : {"\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xc3\xa8z", ""}) {
    CAPTURE(escaped(text));
    CHECK(is_utf8(text));
  }
  for (const char* text : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x7f", "\xc2\xc0", "\xe0\x9f\xbf",
                           "\xe0\xa0", "\xe0\xa0\x7f", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf",
                           "\xf0\x90\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xe8z"}) {
    CAPTURE(escaped(text));
    CHECK_FALSE(is_utf8(text));
  }
}

TEST_CASE("a character's bytes are those of UTF-8, from one to four of them") {
  CHECK(utf8_of(0x7f) == "\x7f");
  CHECK(utf8_of(0x80) == "\xc2\x80");
  CHECK(utf8_of(0x7ff) == "\xdf\xbf");
  CHECK(utf8_of(0x800) == "\xe0\xa0\x80");
  CHECK(utf8_of(0x65e5) == "\xe6\x97\xa5");
  CHECK(utf8_of(0xffff) == "\xef\xbf\xbf");
  CHECK(utf8_of(0x10000) == "\xf0\x90\x80\x80");
  CHECK(utf8_of(0x1f600) == "\xf0\x9f\x98\x80");
  CHECK(utf8_of(0x10ffff) == "\xf4\x8f\xbf\xbf");
}

TEST_CASE("marks that draw nothing or turn text around are shown by their number, and their neighbours as they are") {
  struct Range {
    std::uint32_t first, last;
  };
  for (const auto& [first, last] :
       {Range{0x80, 0x9f}, Range{0xad, 0xad}, Range{0x61c, 0x61c}, Range{0x200b, 0x200f}, Range{0x2028, 0x202e},
        Range{0x2060, 0x206f}, Range{0xfeff, 0xfeff}, Range{0xfff9, 0xfffb}, Range{0xe0000, 0xe0fff}}) {
    for (const std::uint32_t hidden : {first, last}) {
      CAPTURE(hidden);
      CHECK(escaped(utf8_of(hidden)).starts_with("\\u{"));
    }
    for (const std::uint32_t shown : {first - 1, last + 1}) {
      CAPTURE(shown);
      if (shown != 0x7f) CHECK(escaped(utf8_of(shown)) == utf8_of(shown));
    }
  }
  CHECK(escaped("\x1f \x7f") == "\\x1f \\x7f");
}

TEST_CASE("an address is shown without its user, its password and its query") {
  CHECK(shown_url("https://user:secret@host/a.pt?sig=1#x") == "https://host/a.pt");
  CHECK(shown_url("https://host/a@b.pt#part") == "https://host/a@b.pt");
  CHECK(shown_url("https://us@er:pw@host") == "https://host");
  CHECK(shown_url("s3://bucket/key") == "s3://bucket/key");
  CHECK(shown_url("https://") == "https://");
  CHECK(shown_url("run/a@b.pt") == "run/a@b.pt");
}

TEST_CASE("a pattern chooses the whole of a name: a star stands for any letters or none, a question mark for one") {
  struct Case {
    const char *pattern, *text;
    bool matches;
  };
  for (const auto& [pattern, text, matches] : std::initializer_list<Case>{
           {"layers.*.weight", "layers.10.weight", true},
           {"layers.*.weight", "layers.10.weight_scale", false},
           {"*", "", true},
           {"", "", true},
           {"", "a", false},
           {"a", "", false},
           {"a*", "a", true},
           {"a**", "a", true},
           {"*a", "ba", true},
           {"*a", "ab", false},
           {"?", "a", true},
           {"?", "", false},
           {"??", "a", false},
           {"a?c", "abc", true},
           {"*ab", "aab", true},
           {"*aab", "aaab", true},
           {"a*b*c", "axbxbxc", true},
           {"a*b*c", "axcxb", false},
           {"[a]", "[a]", true},
           {"[a]", "a", false},
           {"A", "a", false},
       }) {
    CAPTURE(pattern, text);
    CHECK(glob_matches(pattern, text) == matches);
  }
}

TEST_CASE("an error of a file names the file once, and keeps what it says to do") {
  const Error bare(Status::corrupt, "ends early", "copy it again", 5);
  const Error named = with_name("run/a.pt", bare);
  CHECK(std::string(named.what()) == "run/a.pt: ends early");
  CHECK(named.status == Status::corrupt);
  CHECK(named.hint == "copy it again");
  CHECK(named.detail == 5);
  CHECK(std::string(with_name("run/a.pt", named).what()) == "run/a.pt: ends early");
  CHECK_THROWS_WITH(throw_io("", ENOENT), Catch::StartsWith("the empty path: "));
  CHECK_THROWS_WITH(throw_io("a.pt", EACCES), Catch::StartsWith("a.pt: "));
}
