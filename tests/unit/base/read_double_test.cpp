// What reads numbers where the library of C++ cannot says what that of another says of the same bytes, wherever it can.
#include "lib/base/read_double.hpp"
#include "tests/catch.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>

#if !defined(_LIBCPP_VERSION) || _LIBCPP_VERSION >= 200000

using tare::double_by_strtod;

namespace {

std::string told(std::from_chars_result (*read)(const char*, const char*, double&, std::chars_format),
                 const std::string& text, std::chars_format format) {
  double value = 42;
  const auto [end, error] = read(text.data(), text.data() + text.size(), value, format);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return std::to_string(end - text.data()) + " bytes, error " + std::to_string(static_cast<int>(error)) + ", " +
         (value != value ? "nan" : std::to_string(bits));
}

void compare(const std::string& text, std::chars_format format = std::chars_format::general) {
  INFO(text);
  CHECK(told(double_by_strtod, text, format) == told(std::from_chars, text, format));
}

}  // namespace

TEST_CASE("numbers, words and what is neither are read by the C library as by that of C++") {
  for (const char* text : {"",
                           "-",
                           "+1",
                           " 1",
                           "1",
                           "-0",
                           "0.0",
                           ".5",
                           "5.",
                           ".",
                           "-.",
                           "1e",
                           "1e+",
                           "1e5",
                           "1E-5x",
                           "1e5.5",
                           "0x10",
                           "1,5",
                           "1_000",
                           "inf",
                           "-inf",
                           "INFINITY",
                           "infinit",
                           "in",
                           "nan",
                           "NaN",
                           "-nan",
                           "nan(",
                           "nan()",
                           "nan(a_1)",
                           "nan(-)",
                           "nano",
                           "e5",
                           "1e308",
                           "1e309",
                           "-1e309",
                           "1e-308",
                           "4.9e-324",
                           "1e-400",
                           "0e-400",
                           "0e99999999999999999999",
                           "1e99999999999999999999",
                           "179769313486231570814527423731704356798071e267",
                           "2.2250738585072011e-308",
                           "9007199254740993",
                           "0.1"}) {
    compare(text);
  }
}

TEST_CASE("hexadecimal numbers are read by the C library as by that of C++") {
  for (const char* text :
       {"1", "1p4", "1.8p-1", "fp", "g", "0x1", "-A.8", ".8p1", "1p1023", "1p+", "inf", "1.fffffffffffff8p0"}) {
    compare(text, std::chars_format::hex);
  }
}

TEST_CASE("random texts of a number's letters are read by the C library as by that of C++") {
  std::mt19937 random(1);
  constexpr std::string_view letters = "0123456789.e-+infa()";
  for (int i = 0; i < 100'000; ++i) {
    std::string text(1 + random() % 24, ' ');
    for (char& c : text) c = letters[random() % (i % 2 == 0 ? 12 : letters.size())];
    compare(text);
  }
}

#endif

TEST_CASE("a number that is out of range is the double nearest to it: zero or an infinity, of its sign") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [number, wanted] : {std::pair{"1e400", infinity},
                                       {"-1e400", -infinity},
                                       {"1.5E+400", infinity},
                                       {"1e-400", 0.0},
                                       {"1.5E-400", 0.0},
                                       {"0.00001e320", infinity},
                                       {"65536.5", 65536.5}}) {
    INFO(number);
    CHECK(tare::nearest_double(number) == wanted);
  }
  CHECK(std::signbit(tare::nearest_double("-1e-400")));
  CHECK(tare::nearest_double("1" + std::string(400, '0')) == infinity);
}
