// Texts, numbers and words of JSON, as Python's json reads them, and where it is said that they break.
#include <cmath>

#include "lib/base/error.hpp"
#include "lib/json/reader.hpp"
#include "tests/catch.hpp"

namespace tare {
namespace {

std::string refusal(std::string_view text) {
  try {
    (void)read_json(as_bytes(text), "x");
  } catch (const Error& error) {
    CHECK(error.status == Status::corrupt);
    return error.what();
  }
  return "taken";
}

std::string text_of(std::string_view json) {
  const PlainTree made = read_json(as_bytes(json), "x");
  REQUIRE(made.tree().kind(made.tree().root) == Kind::string);
  return std::string(made.tree().text(made.tree().root));
}

Value value_of(std::string_view json) {
  const PlainTree made = read_json(as_bytes(json), "x");
  return made.tree().value(made.tree().root, 1);
}

}  // namespace

TEST_CASE("escapes stand for their characters, four digits and no more, and pairs of them for one") {
  CHECK(text_of(R"("")").empty());
  CHECK(text_of(R"("a\u00411\u0042b")") == "aA1Bb");
  CHECK(text_of(R"("\"\\\/\b\f\n\r\t")") == "\"\\/\b\f\n\r\t");
  CHECK(text_of(R"("\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff")") ==
        "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf");
  CHECK(text_of(R"("\ud800\udc00\ud83d\ude00\udbff\udfff")") == "\xf0\x90\x80\x80\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf");
  CHECK(text_of(R"("\uABCD\uabcd")") == "\xea\xaf\x8d\xea\xaf\x8d");
  for (const char* text : {R"("\u")", R"("\u12")", R"("\u123)", R"("\u12g4")", R"("\u 123")", R"("\u-123")"}) {
    INFO(text);
    CHECK(refusal(text) == "x: JSON: at offset 3: no four hexadecimal digits");
  }
  for (const char* text : {R"("\ud800\udbff")", R"("\ud800\ue000")", R"("\ud800\u0041")"}) {
    INFO(text);
    CHECK(refusal(text) == "x: JSON: at offset 13: half of a character");
  }
  for (const char* text : {R"("\x41")", R"("\a")", R"("\")", R"("\)"}) CHECK(refusal(text) != "taken");
}

TEST_CASE("a text ends, is UTF-8, and has no control characters as such") {
  CHECK(text_of("\"\x20\x7f\xc3\xa9\"") == "\x20\x7f\xc3\xa9");
  CHECK(refusal("\"a\nb\"") == "x: JSON: at offset 1: a text with a raw control character");
  CHECK(refusal("\"a\x1f\"") == "x: JSON: at offset 1: a text with a raw control character");
  CHECK(refusal("\"ab") == "x: JSON: at offset 1: a text that does not end");
  CHECK(refusal("\"a\xff\"") == "x: JSON: at offset 1: a text that is no UTF-8");
  CHECK(refusal("\"a\\n\xc3\"") == "x: JSON: at offset 4: a text that is no UTF-8");
}

TEST_CASE("numbers are whole or not by how they are written, and none starts with 0 but those below 1") {
  struct Case {
    const char* json;
    const char* type;
    double value;
  };
  for (const auto& [json, type, value] :
       {Case{"0", "int", 0}, Case{"-0", "int", 0}, Case{"7", "int", 7}, Case{"-12", "int", -12}, Case{"10", "int", 10},
        Case{"0.5", "float", 0.5}, Case{"-0.25", "float", -0.25}, Case{"1.0", "float", 1}, Case{"1e3", "float", 1000},
        Case{"1E3", "float", 1000}, Case{"1e+3", "float", 1000}, Case{"25e-2", "float", 0.25},
        Case{"2.5e1", "float", 25}, Case{"Infinity", "float", INFINITY}, Case{"-Infinity", "float", -INFINITY}}) {
    INFO(json);
    CHECK(value_of(json).type == type);
    CHECK(value_of(json).as_double() == value);
  }
  CHECK(std::isnan(value_of("NaN").as_double()));
  CHECK(std::get<bool>(value_of("true").data));
  CHECK_FALSE(std::get<bool>(value_of("false").data));
  CHECK(value_of("null").type == "None");
  for (const char* json :
       {"01", "-01", "00", "1.", ".5", "-", "+1", "1e", "1e+", "1.e1", "0x1", "-NaN", "tru", "nul", ""}) {
    INFO(json);
    CHECK(refusal(json) != "taken");
  }
  CHECK(refusal("01") == "x: JSON: at offset 2: a number that starts with 0");
}

}  // namespace tare
