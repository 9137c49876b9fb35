#include "lib/base/exact_integer.hpp"

#include <limits>

#include "tests/catch.hpp"

using namespace tare;

TEST_CASE("a whole number in digits is read to the last of them, however many they are") {
  CHECK(exact_decimal("65536") == "65536");
  CHECK(exact_decimal("+007") == "7");
  CHECK(exact_decimal("-0") == "0");
  CHECK(exact_decimal("9007199254740993") == "9007199254740993");
  CHECK(exact_decimal("-18446744073709551617") == "-18446744073709551617");
  CHECK(exact_decimal("0x10") == "16");
  CHECK(exact_decimal("-0xFFFFFFFFFFFFFFFF") == "-18446744073709551615");
  CHECK(exact_decimal("2^63") == "9223372036854775808");
  CHECK(exact_decimal("10**20") == "100000000000000000000");
  CHECK(exact_decimal("0^0") == "1");
  CHECK(exact_decimal("0^4294967295") == "0");
  CHECK(exact_decimal("1^4294967295") == "1");
}

TEST_CASE("what is no whole number in digits, or a longer one than any format has, is left to others") {
  for (const char* text : {"", "-", "0x", "0x1p4", "1e3", "0.5", "2^-3", "-2^3", "2^", "^2", "1 ", " 1", "--1", "inf",
                           "2^0x10", "2^3^2", "10^1000", "2^4294967295"}) {
    CAPTURE(text);
    CHECK_FALSE(exact_decimal(text).has_value());
  }
  CHECK_FALSE(exact_decimal(std::string(401, '1')).has_value());
}

TEST_CASE("64 bits hold what they hold, and the next number is none of them") {
  CHECK(exact_int64("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  CHECK(exact_int64("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
  CHECK_FALSE(exact_int64("9223372036854775808").has_value());
  CHECK_FALSE(exact_int64("-9223372036854775809").has_value());
  CHECK_FALSE(exact_int64("0.5").has_value());
}
