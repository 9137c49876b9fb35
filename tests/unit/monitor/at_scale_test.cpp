// What another scale or format would do to values, told from their exponents alone, beside a real rounding of each.
#include "lib/monitor/at_scale.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/summarise.hpp"
#include "tests/catch.hpp"

using namespace tare;
using namespace tare::monitor;

namespace {

Summary seen(const std::vector<float>& values, double scale = 1) {
  return kernels::cpu::summarise({const_cast<float*>(values.data()), values.size(), Dtype::f32, 0}, scale);
}

/// Values of all magnitudes about 2^mean, zeros among them.
std::vector<float> gradients(double mean, double octaves) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> exponent(mean, octaves);
  std::vector<float> values;
  for (int i = 0; i < 5'000; ++i) {
    values.push_back(static_cast<float>((i % 2 == 0 ? 1 : -1) * std::exp2(exponent(random))));
    if (i % 50 == 0) values.push_back(0);
  }
  return values;
}

struct Counts {
  std::uint64_t zero = 0, subnormal = 0, infinite = 0;
};

template <class Format>
Counts rounded(const std::vector<float>& values, double scale) {
  constexpr double normal = Format::bias == 127 ? 0x1p-126 : Format::bias == 15 ? 0x1p-14 : 0x1p-6;
  Counts counts;
  for (const float value : values) {
    if (value == 0) continue;
    const auto scaled = static_cast<float>(static_cast<double>(value) * scale);
    const float there = widen<Format>(narrow<Format>(scaled));
    if (there == 0) {
      ++counts.zero;
    } else if (!is_finite(there)) {
      ++counts.infinite;
    } else if (std::fabs(there) < normal) {
      ++counts.subnormal;
    }
  }
  return counts;
}

bool holds(const Bounds& bounds, std::uint64_t count) {
  return bounds.least <= count && count <= bounds.most;
}

template <class Format>
void check(const std::vector<float>& values, double scale, Dtype format) {
  const Counts counts = rounded<Format>(values, scale);
  const AtScale told = at_scale(seen(values), scale, format);
  CHECK(holds(told.zero, counts.zero));
  CHECK(holds(told.subnormal, counts.subnormal));
  CHECK(holds(told.beyond, counts.infinite));
  const std::uint64_t octave = values.size() / 4;  // no bin has more
  CHECK(told.zero.most - told.zero.least <= octave);
  CHECK(told.beyond.most - told.beyond.least <= octave);
}

template <class Format>
void check_value(float value, Dtype format) {
  const Counts counts = rounded<Format>({value}, 1);
  const AtScale told = at_scale(seen({value}), 1, format);
  INFO(value << " as " << name_of(format));
  CHECK(told.zero == Bounds{counts.zero, counts.zero});
  CHECK(told.subnormal == Bounds{counts.subnormal, counts.subnormal});
  CHECK(told.beyond == Bounds{counts.infinite, counts.infinite});
}

/// The subnormal and the least normal numbers, the largest, and what is halfway to the next of each.
template <class Format>
void check_around_each_number(Dtype format) {
  constexpr std::uint32_t octave = 1U << Format::mantissa_bits;
  for (std::uint32_t pattern = 0; pattern <= Format::largest; ++pattern) {
    if (pattern == 2 * octave) pattern = Format::largest - octave;
    const float number = widen<Format>(static_cast<typename Format::Bits>(pattern));
    const bool is_largest = pattern == Format::largest;
    const float other = widen<Format>(static_cast<typename Format::Bits>(is_largest ? pattern - 1 : pattern + 1));
    for (const float value : {number, is_largest ? number + (number - other) / 2 : number + (other - number) / 2}) {
      for (const float toward : {0.0F, value, std::numeric_limits<float>::max()}) {
        if (const float near = std::nextafter(value, toward); near > 0) check_value<Format>(near, format);
      }
    }
  }
}

}  // namespace

TEST_CASE("what becomes of values at any scale, in any format, lies between the bounds") {
  for (const double mean : {-30.0, -12.0, 3.0}) {
    const std::vector<float> values = gradients(mean, 4);
    for (int exponent = -12; exponent <= 32; exponent += 4) {
      for (const double factor : {1.0, 1.3}) {
        const double scale = factor * std::ldexp(1.0, exponent);
        check<F16>(values, scale, Dtype::f16);
        check<Bf16>(values, scale, Dtype::bf16);
        check<F8E5m2>(values, scale, Dtype::f8_e5m2);
        check<F8E4m3fn>(values, scale, Dtype::f8_e4m3fn);
      }
    }
  }
}

TEST_CASE("values below and above the bins are told of, in bfloat16 exactly") {
  const std::vector<float> values{0x1p-140F, -0x1p-130F, 0x1p-60F, 0, 0x1p-30F, 1, 0x1p100F};
  const AtScale brain = at_scale(seen(values), 1, Dtype::bf16);
  CHECK(brain.zero == Bounds{0, 3});  // 2^-140 alone; all three lie below the bins
  CHECK(brain.beyond == Bounds{0, 0});
  const AtScale half = at_scale(seen(values), 1, Dtype::f16);
  CHECK(half.zero == Bounds{4, 4});
  CHECK(half.beyond == Bounds{1, 1});
  const AtScale higher = at_scale(seen({0x1p-60F, 0x1p-70F, 2}), 1, Dtype::bf16);
  CHECK(higher.zero == Bounds{0, 0});  // the least of them would not be
  CHECK(higher.subnormal == Bounds{0, 0});
  CHECK(at_scale(seen({0x1p20F, 0x1p30F}), 0x1p100, Dtype::bf16).beyond == Bounds{0, 2});
  CHECK(at_scale(seen({0x1p20F, 0x1p30F}), 0x1p108, Dtype::bf16).beyond == Bounds{2, 2});
}

TEST_CASE("values that bear a scale are told without it") {
  const std::vector<float> bare = gradients(-20, 3);
  std::vector<float> scaled;
  for (const float value : bare) scaled.push_back(value * 0x1p16F);
  const Summary plain = seen(bare);
  const Summary unscaled = seen(scaled, 0x1p16);
  CHECK(unscaled.exponents == plain.exponents);
  CHECK(unscaled.max_abs == plain.max_abs);
  CHECK(unscaled.min_abs == plain.min_abs);
  CHECK(unscaled.mean == plain.mean);
  CHECK(norm(unscaled) == norm(plain));
  CHECK(unscaled.zeros == plain.zeros);
  CHECK(unscaled.scale == 0x1p16);
  CHECK(at_scale(unscaled, 1024, Dtype::f16).zero == at_scale(plain, 1024, Dtype::f16).zero);
}

TEST_CASE("subnormal numbers are those of the values as they lie there") {
  std::vector<std::uint16_t> halves{0x0001, 0x03ff, 0x0400, 0};
  const Summary told = kernels::cpu::summarise({halves.data(), halves.size(), Dtype::f16, 0}, 0x1p16);
  CHECK(told.subnormals == 2);
  CHECK(told.zeros == 1);
  CHECK(told.min_abs == 0x1p-40);
  CHECK(told.max_abs == 0x1p-30);
}

TEST_CASE("the edges of each format are where its rounding has them") {
  const auto only = [](float value, Dtype format) { return at_scale(seen({value}), 1, format); };
  const Bounds none{0, 0};
  const Bounds one{1, 1};
  CHECK(only(0x1p-25F, Dtype::f16).zero == one);  // a tie goes to the even one
  CHECK(only(0x1.000002p-25F, Dtype::f16).zero == none);
  CHECK(only(0x1.000002p-25F, Dtype::f16).subnormal == one);
  CHECK(only(0x1p-14F, Dtype::f16).subnormal == none);
  CHECK(only(65519.99F, Dtype::f16).beyond == none);
  CHECK(only(65520, Dtype::f16).beyond == one);
  CHECK(only(0x1p-134F, Dtype::bf16).zero == one);
  CHECK(only(0x1.8p-134F, Dtype::bf16).zero == none);
  CHECK(only(0x1.fefffep127F, Dtype::bf16).beyond == none);
  CHECK(only(0x1.ffp127F, Dtype::bf16).beyond == one);
  CHECK(only(0x1p-17F, Dtype::f8_e5m2).zero == one);
  CHECK(only(0x1.000002p-17F, Dtype::f8_e5m2).zero == none);
  CHECK(only(61439.99F, Dtype::f8_e5m2).beyond == none);
  CHECK(only(61440, Dtype::f8_e5m2).beyond == one);
  CHECK(only(0x1p-10F, Dtype::f8_e4m3fn).zero == one);
  CHECK(only(464, Dtype::f8_e4m3fn).beyond == none);
  CHECK(only(464.0001F, Dtype::f8_e4m3fn).beyond == one);
}

TEST_CASE("of one value all is told for sure, as its rounding has it") {
  check_around_each_number<F16>(Dtype::f16);
  check_around_each_number<Bf16>(Dtype::bf16);
  check_around_each_number<F8E5m2>(Dtype::f8_e5m2);
  check_around_each_number<F8E4m3fn>(Dtype::f8_e4m3fn);
}

TEST_CASE("of zeros, nan and infinities alone nothing becomes anything else") {
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& values :
       {std::vector<float>{}, {0, -0.0F}, {inf, -inf, std::numeric_limits<float>::quiet_NaN()}}) {
    const AtScale told = at_scale(seen(values), 0x1p-30, Dtype::f16);
    CHECK(told.zero == Bounds{0, 0});
    CHECK(told.subnormal == Bounds{0, 0});
    CHECK(told.beyond == Bounds{0, 0});
  }
}

TEST_CASE("formats are found by their names, and only narrow ones") {
  CHECK(find_narrow_format("f16") == Dtype::f16);
  CHECK(find_narrow_format("bf16") == Dtype::bf16);
  CHECK(find_narrow_format("f8e5m2") == Dtype::f8_e5m2);
  CHECK(find_narrow_format("f8e4m3fn") == Dtype::f8_e4m3fn);
  CHECK_FALSE(find_narrow_format("f32").has_value());
  CHECK_FALSE(find_narrow_format("").has_value());
}
