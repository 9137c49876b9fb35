#include "lib/base/text.hpp"
#include "tests/catch.hpp"

#include <cmath>

using namespace tare;

TEST_CASE("a double's text reads back to the same double and always looks like a float") {
  CHECK(float_text(65536.0) == "65536.0");
  CHECK(float_text(0.1) == "0.1");
  CHECK(float_text(5e-324) == "5e-324");
  CHECK(float_text(-0.0) == "-0.0");
  CHECK(float_text(NAN) == "nan");
  CHECK(float_text(-INFINITY) == "-inf");
}

TEST_CASE("a word is given to a shell in quotes where it would be more than a word, and fit for a terminal") {
  CHECK(shell_word("run/checkpoint-4500") == "run/checkpoint-4500");
  CHECK(shell_word("s3://a/b=1@2.pt") == "s3://a/b=1@2.pt");
  CHECK(shell_word("a b") == "'a b'");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("$(rm -r ~);`x`") == "'$(rm -r ~);`x`'");
  CHECK(shell_word("it's") == R"('it'"'"'s')");
  CHECK(shell_word("a\\b.pt") == R"($'a\\b.pt')");
  CHECK(shell_word("it's\na\x1b[31m") == R"($'it\'s\x0aa\x1b[31m')");
  CHECK(shell_word("\xff\xfe.pt") == R"($'\xff\xfe.pt')");
  CHECK(shell_word("\u202egpj.pt") == R"($'\xe2\x80\xaegpj.pt')");
  CHECK(shell_word("modell-\u00fc \u65e5") == "'modell-\u00fc \u65e5'");
}

TEST_CASE("numbers are read in every way that a user writes them") {
  CHECK(parse_number("65536") == 65536.0);
  CHECK(parse_number("2^16") == 65536.0);
  CHECK(parse_number("2**-3") == 0.125);
  CHECK(parse_number("0x1p16") == 65536.0);
  CHECK(parse_number("-0x1.8p1") == -3.0);
  CHECK(parse_number("6.1e-5") == 6.1e-5);
  CHECK(std::isnan(*parse_number("nan")));
  CHECK(parse_number("inf") == INFINITY);
}

TEST_CASE("what is no number is not read as one") {
  for (const char* text : {"", "-", "1x", "0x", "0x-1", "--1", "^", "2^", "^2", "1 ", " 1", "true", "1,5"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_number(text).has_value());
  }
}

TEST_CASE("nothing that could move a cursor or turn text around survives escaping") {
  CHECK(escaped("scaler") == "scaler");
  CHECK(escaped("mod\xc3\xa8le") == "mod\xc3\xa8le");
  CHECK(escaped("a\x1b[31m\n") == "a\\x1b[31m\\x0a");
  CHECK(escaped("\xff\xc3") == "\\xff\\xc3");
  CHECK(escaped("\xe2\x80\xae"
                "abc") == "\\u{202e}abc");
  CHECK(escaped("\xc2\x9b"
                "31m") == "\\u{009b}31m");
  CHECK(escaped("a\\x1b") == "a\\\\x1b");
  CHECK(escaped("\xed\xa0\x80") == "\\xed\\xa0\\x80");
}

TEST_CASE("base64 pads as RFC 4648 says") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("\xff\xfe") == "//4=");
}
