// Doubles that are integers.
#include "lib/base/whole_number.hpp"

#include <limits>

#include "tests/catch.hpp"

using namespace tare;

TEST_CASE("a double is an integer where it has no fraction and its neighbours are told from it") {
  CHECK(whole_number(0) == 0);
  CHECK(whole_number(-0.0) == 0);
  CHECK(whole_number(-3) == -3);
  CHECK(whole_number(0x1p53) == std::int64_t{1} << 53);
  CHECK(whole_number(-0x1p53) == -(std::int64_t{1} << 53));
  for (const double other :
       {0.5, -2.25, 0x1p53 + 2, -0x1p53 - 2, 0x1p63, 1e300, std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    INFO(other);
    CHECK_FALSE(whole_number(other));
  }
}
