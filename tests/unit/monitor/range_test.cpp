// Which zeros are told as lost: those of real float16 roundings, and those that a layer has by itself.
#include "lib/monitor/range.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/dtype.hpp"
#include "tests/catch.hpp"

using namespace tare;
using namespace tare::monitor;

namespace {

constexpr double near_bottom = 0x1p-20;

/// Values whose logarithms are normal, rounded to f16 as a backward pass in f16 rounds them.
kernels::Statistics rounded(double mean_exponent, double octaves, double& truly_lost, std::uint64_t own_zeros = 0) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> exponent(mean_exponent, octaves);
  kernels::Statistics seen;
  constexpr std::uint64_t values = 20'000;
  std::uint64_t lost = 0;
  for (std::uint64_t i = 0; i < values; ++i) {
    const double value = static_cast<double>(widen<F16>(narrow<F16>(static_cast<float>(std::exp2(exponent(random))))));
    seen.max_abs = std::max(seen.max_abs, value);
    lost += value == 0 ? 1 : 0;
    seen.below += value != 0 && value < near_bottom ? 1 : 0;
  }
  seen.zeros = lost + own_zeros;
  seen.count = values + own_zeros;
  truly_lost = static_cast<double>(lost) / static_cast<double>(seen.count);
  return seen;
}

}  // namespace

TEST_CASE("zeros that a rounding to float16 made are told, as many as there are") {
  for (const double octaves : {1.5, 3.0, 5.0}) {
    for (const double mean : {-24.0, -21.0, -17.0}) {
      double truly = 0;
      const kernels::Statistics seen = rounded(mean, octaves, truly);
      if (seen.zeros == 0) continue;
      CHECK(*lost_share(seen, near_bottom, Format::f16) == truly);
    }
  }
}

TEST_CASE("zeros that a layer has by itself are not told, in whichever share") {
  for (const std::uint64_t own : {2'000ULL, 20'000ULL, 2'000'000ULL}) {
    double truly = 0;
    const kernels::Statistics seen = rounded(-8, 2.5, truly, own);
    CHECK(truly == 0);
    CHECK(*lost_share(seen, near_bottom, Format::f16) < 0.0005);
  }
}

TEST_CASE("a threshold at the bottom counts what would become zero") {
  kernels::Statistics seen;
  seen.max_abs = 1;
  seen.count = 10;
  seen.zeros = 2;
  seen.below = 3;
  CHECK(*lost_share(seen, 0x1p-24, Format::f16) == 0.5);
  CHECK(*lost_share(seen, 0, Format::f16) == 0.5);
  CHECK(*lost_share(seen, 0x1p-24, Format::bf16) == 0);
}

TEST_CASE("nothing is told of what is zero throughout, and of what is not finite") {
  const double inf = std::numeric_limits<double>::infinity();
  kernels::Statistics seen;
  CHECK_FALSE(lost_share(seen, 0, Format::f16).has_value());
  seen.count = seen.zeros = 4;
  CHECK_FALSE(lost_share(seen, 0, Format::f16).has_value());
  seen.zeros = 1;
  seen.max_abs = inf;
  CHECK_FALSE(lost_share(seen, 0, Format::f16).has_value());
  CHECK_FALSE(headroom_bits(inf, Format::f16).has_value());
  CHECK_FALSE(headroom_bits(0, Format::f16).has_value());
  CHECK(*headroom_bits(65504, Format::f16) == 0);
  CHECK(*headroom_bits(65504.0 / 8, Format::f16) == 3);
  CHECK(*headroom_bits(131008, Format::f16) == -1);
  CHECK(*headroom_bits(1, Format::bf16) > 127);
}
