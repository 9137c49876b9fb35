
#include <cmath>

#include "tests/catch.hpp"
#include "tests/unit/container/changed.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_view_literals;

TEST_CASE("JSON's numbers know whether they are ints, and texts are unescaped") {
  const auto container =
      open_image(bytes_of(R"( {"a": [1, -2.5e3, true, null, NaN, -Infinity], "\u00e9\ud83d\ude00\n": "x", "big": 1)"
                          R"(8446744073709551616, "e": {}, "l": []} )"sv));
  CHECK(container->format() == "json");
  CHECK(type_at(*container, {"a", std::size_t{0}}) == "int");
  CHECK(number_at(*container, {"a", std::size_t{1}}) == -2500);
  CHECK(type_at(*container, {"a", std::size_t{2}}) == "bool");
  CHECK(type_at(*container, {"a", std::size_t{3}}) == "None");
  CHECK(number_at(*container, {"a", std::size_t{5}}) == -HUGE_VAL);
  CHECK(number_at(*container, {"big"}) == 0x1p64);
  CHECK(node_at(container->tree(), {"\u00e9\U0001f600\n"}) != nowhere);
}

TEST_CASE("a number of a sidecar is replaced, the text around it stays") {
  const Bytes image = corpus_bytes("numpy/json_sidecar/trainer_state.json");
  const Changed changed = change_value(image, {"scaler", "scale"}, 65536.0);
  CHECK(number_at(*changed.container, {"scaler", "scale"}) == 65536);
  CHECK(as_text(changed.image).find("\"scale\": 65536.0,") != std::string_view::npos);
  CHECK(changed.image.size() == image.size() + 1);
  const Changed interval = change_value(image, {"scaler", "growth_interval"}, Integer{200, {}});
  CHECK(interval.image.size() == image.size());
  CHECK(interval.change.patches.size() == 1);
}

TEST_CASE("a text is replaced between its quotes, by one that JSON writes as it is") {
  const Bytes image = bytes_of(R"({"a": "00ff", "b": 1})"sv);
  CHECK(as_text(change_value(image, {"a"}, NewText{"c0ffee"}).image) == R"({"a": "c0ffee", "b": 1})");
  for (const auto* text : {"\"", "\\", "\n", "\x7f", "\u00e9"}) {
    INFO(text);
    CHECK_THROWS_WITH(change_value(image, {"a"}, NewText{text}), Catch::Contains("would have to escape"));
  }
}

TEST_CASE("of a name that is there twice the last value counts, and that is told") {
  const auto container = open_image(bytes_of(R"({"a": 1, "a": 2})"sv));
  CHECK(number_at(*container, {"a"}) == 2);
  REQUIRE(container->findings().size() == 1);
  CHECK(container->findings()[0].code == "duplicate-key");
}

TEST_CASE("what is no JSON is refused") {
  for (const auto text : {"{\"a\": 01}"sv, "{\"a\": 1,}"sv, "{\"a\" 1}"sv, "{\"a\": 1"sv, "[1] 2"sv, "[1}"sv, "[tru]"sv,
                          "{\"a\": \"\\x\"}"sv, "{\"a\": \"\\ud800\\u0041\"}"sv, "[\"\n\"]"sv, "[\"\0\"]"sv,
                          "[\"\xff\"]"sv, "[\"\xed\xa0\x80\"]"sv, "[1.]"sv, "[-]"sv, "{1: 2}"sv}) {
    INFO(text);
    CHECK_THROWS_AS(open_image(bytes_of(text)), Error);
  }
  CHECK_THROWS_WITH(open_image(Bytes(200'000, std::byte{'['})), Catch::Contains("nested"));
}
