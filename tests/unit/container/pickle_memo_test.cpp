// What of a pickle's memo stays where something is cut out, and by which numbers its slots go.
#include "lib/container/pickle/write/memo.hpp"

#include <string>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

TEST_CASE("a slot of the memo goes by its number, however an opcode writes that") {
  const auto index_in = [](const std::string& opcode) {
    const Bytes bytes = bytes_of(opcode);
    return memo_index(PickleScanner(bytes, "x").next());
  };
  for (const char kind : {'p', 'g'}) {
    CHECK(index_in(kind + "0\n"s) == 0);
    CHECK(index_in(kind + "7\n"s) == 7);
    CHECK(index_in(kind + "12345\n"s) == 12345);
  }
  for (const char kind : {'q', 'h'}) CHECK(index_in(kind + "\xfe"s) == 254);
  for (const char kind : {'r', 'j'}) CHECK(index_in(kind + "\1\2\0\0"s) == 513);
}

TEST_CASE("a list that holds itself is kept once where it is cut out and fetched elsewhere") {
  // {"a": [<itself>], "b": <that list>}: memo numbers 0 to 3, the list is 2.
  const std::string list =
      "]\x94h\2"
      "a";
  const std::string front =
      "\x80\4}\x94(\x8c\1"
      "a\x94";
  const std::string text = front + list +
                           "\x8c\1"
                           "b\x94h\2u.";
  const Bytes bytes = bytes_of(text);
  const Span cut{front.size(), list.size()};
  const KeptMemo kept = kept_memo(bytes, 0, bytes.size(), std::span(&cut, 1));
  REQUIRE(kept.left.size() == 1);
  CHECK(as_text(kept.left[0]) == list + "0");
  CHECK(kept.elsewhere.empty());
}

TEST_CASE(
    "a text or a class that is cut out and fetched elsewhere by its slot's name stands there; what has parts is "
    "refused") {
  const std::string front = "\x80\2]q\0("s;
  for (const std::string& atom : {"X\1\0\0\0aq\5"s, "\x8c\1aq\5"s, "cos\nfspath\nq\5"s}) {
    INFO(atom);
    const std::string text = front + atom + "h\5\x65.";
    const Bytes bytes = bytes_of(text);
    const Span cut{front.size(), atom.size()};
    const KeptMemo kept = kept_memo(bytes, 0, bytes.size(), std::span(&cut, 1));
    REQUIRE(kept.left.size() == 1);
    CHECK(kept.left[0].empty());
    REQUIRE(kept.elsewhere.size() == 1);
    CHECK(kept.elsewhere[0].place.offset == cut.end());
    CHECK(kept.elsewhere[0].place.size == 2);
    CHECK(as_text(kept.elsewhere[0].after) == atom);
  }
  const std::string list = "]q\5";
  const Bytes bytes = bytes_of(front + list + "h\5\x65.");
  const Span cut{front.size(), list.size()};
  CHECK_THROWS_AS(kept_memo(bytes, 0, bytes.size(), std::span(&cut, 1)), Error);
}
