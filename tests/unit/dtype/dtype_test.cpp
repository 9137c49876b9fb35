#include "kernels/dtype.hpp"
#include "tests/catch.hpp"

#include <cmath>
#include <string>
#include <vector>

using namespace tare;

namespace {

/// Every pattern of a format, from the definition: sign, exponent, mantissa.
template <class Format>
double defined_value(uint32_t pattern) {
  const uint32_t exponent = (pattern & (Format::sign - 1)) >> Format::mantissa_bits;
  const uint32_t mantissa = pattern & ((1u << Format::mantissa_bits) - 1);
  const double whole = exponent == 0 ? 0.0 : 1.0;
  const int power = static_cast<int>(exponent == 0 ? 1 : exponent) - Format::bias;
  const double magnitude = std::ldexp(whole + std::ldexp(mantissa, -Format::mantissa_bits), power);
  return (pattern & Format::sign) != 0 ? -magnitude : magnitude;
}

template <class Format>
constexpr uint32_t pattern_count() {
  return Format::sign * 2;
}

template <class Format>
bool is_number(uint32_t pattern) {
  return (pattern & (Format::sign - 1)) <= Format::largest;
}

template <class Format>
uint32_t narrowed(double value, Range range = Range::format) {
  return narrow<Format>(static_cast<float>(value), range);
}

template <class Format>
void all_numbers_read_as_defined() {
  for (uint32_t pattern = 0; pattern < pattern_count<Format>(); ++pattern) {
    if (!is_number<Format>(pattern)) continue;
    const float value = widen<Format>(static_cast<typename Format::Bits>(pattern));
    const bool right = static_cast<double>(value) == defined_value<Format>(pattern) &&
                       std::signbit(value) == ((pattern & Format::sign) != 0);
    const bool back = narrow<Format>(value) == pattern;
    if (right && back) continue;
    CAPTURE(pattern, value);
    CHECK(right);
    CHECK(back);
  }
}

/// Between any two neighbours: below the middle down, above it up, the middle itself to the even pattern.
template <class Format>
void all_gaps_round_to_nearest_even() {
  for (uint32_t low = 0; low < Format::largest; ++low) {
    const double a = defined_value<Format>(low);
    const double b = defined_value<Format>(low + 1);
    const double middle = (a + b) / 2;  // exact in float: one more bit than the format
    const uint32_t even = (low & 1u) == 0 ? low : low + 1;
    const float under = std::nextafter(static_cast<float>(middle), 0.0f);
    const float over = std::nextafter(static_cast<float>(middle), INFINITY);
    const bool right = narrowed<Format>(middle) == even && narrow<Format>(under) == low &&
                       narrow<Format>(over) == low + 1 && narrowed<Format>(-middle) == (even | Format::sign);
    if (right) continue;
    CAPTURE(low, middle);
    CHECK(right);
  }
}

/// What lies half a step beyond the largest number, and what comes after it.
template <class Format>
void overflow_follows_the_range() {
  const double largest = defined_value<Format>(Format::largest);
  const double step = largest - defined_value<Format>(Format::largest - 1);
  const double edge = largest + step / 2;
  const uint32_t at_edge = (Format::largest & 1u) == 0 ? Format::largest : Format::beyond;
  CHECK(narrowed<Format>(edge) == at_edge);
  CHECK(narrow<Format>(std::nextafter(static_cast<float>(edge), 0.0f)) == Format::largest);
  CHECK(narrow<Format>(std::nextafter(static_cast<float>(edge), INFINITY)) == Format::beyond);
  for (const double value : {edge * 1.01, 3.4e38, static_cast<double>(INFINITY)}) {
    CHECK(narrowed<Format>(value) == Format::beyond);
    CHECK(narrowed<Format>(-value) == (Format::beyond | Format::sign));
    CHECK(narrowed<Format>(value, Range::saturate) == Format::largest);
    CHECK(narrowed<Format>(-value, Range::saturate) == (Format::largest | Format::sign));
  }
}

template <class Format>
void nans_stay_nans() {
  for (uint32_t pattern = 0; pattern < pattern_count<Format>(); ++pattern) {
    if (is_number<Format>(pattern)) continue;
    const float value = widen<Format>(static_cast<typename Format::Bits>(pattern));
    const bool infinite = Format::beyond != Format::nan && (pattern & (Format::sign - 1)) == Format::beyond;
    if (std::isnan(value) == !infinite && std::isinf(value) == infinite) continue;
    CAPTURE(pattern, value);
    CHECK(false);
  }
  for (const uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu}) {
    for (const Range range : {Range::format, Range::saturate}) {
      CHECK(std::isnan(widen<Format>(narrow<Format>(float_from(bits), range))));
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("every number of a narrow format reads exactly and is written back", "", F16, Bf16, F8E4m3fn,
                   F8E5m2) {
  all_numbers_read_as_defined<TestType>();
}

TEMPLATE_TEST_CASE("floats round to the nearest number, ties to even", "", F16, Bf16, F8E4m3fn, F8E5m2) {
  all_gaps_round_to_nearest_even<TestType>();
}

TEMPLATE_TEST_CASE("a value beyond the largest becomes what the range says", "", F16, F8E4m3fn, F8E5m2) {
  overflow_follows_the_range<TestType>();
}

TEST_CASE("bf16 overflows where float does, half a step beyond its largest") {
  CHECK(narrow<Bf16>(float_from(0x7f7f7fffu)) == 0x7f7f);
  CHECK(narrow<Bf16>(float_from(0x7f7f8000u)) == 0x7f80);
  CHECK(narrow<Bf16>(float_from(0x7f7fffffu)) == 0x7f80);
  CHECK(narrow<Bf16>(-INFINITY) == 0xff80);
  CHECK(narrow<Bf16>(float_from(0x7f7fffffu), Range::saturate) == 0x7f7f);
}

TEMPLATE_TEST_CASE("nan and infinity keep their class", "", F16, Bf16, F8E4m3fn, F8E5m2) {
  nans_stay_nans<TestType>();
}

TEST_CASE("known patterns") {
  CHECK(narrow<F16>(1.0f) == 0x3c00);
  CHECK(narrow<F16>(65504.0f) == 0x7bff);
  CHECK(narrow<F16>(65519.0f) == 0x7bff);
  CHECK(narrow<F16>(65520.0f) == 0x7c00);
  CHECK(narrow<F16>(5.9604645e-8f) == 0x0001);
  CHECK(narrow<F16>(2.9802322e-8f) == 0x0000);
  CHECK(narrow<F16>(-0.0f) == 0x8000);
  CHECK(narrow<Bf16>(1.0f) == 0x3f80);
  CHECK(narrow<Bf16>(float_from(1)) == 0x0000);
  CHECK(narrow<F8E4m3fn>(448.0f) == 0x7e);
  CHECK(narrow<F8E4m3fn>(464.0f) == 0x7e);
  CHECK(narrow<F8E4m3fn>(465.0f) == 0x7f);
  CHECK(narrow<F8E4m3fn>(0.001953125f) == 0x01);
  CHECK(narrow<F8E5m2>(57344.0f) == 0x7b);
  CHECK(narrow<F8E5m2>(61440.0f) == 0x7c);
  CHECK(narrow<F8E5m2>(1.52587890625e-05f) == 0x01);
}

TEST_CASE("nans are written as torch writes them on the CPU") {
  CHECK(narrow<F16>(widen<F16>(0x7c01)) == 0x7e01);
  CHECK(narrow<F16>(widen<F16>(0xfc03)) == 0xfe03);
  CHECK(narrow<Bf16>(widen<Bf16>(0xff83)) == 0x7fc0);
  CHECK(narrow<F8E4m3fn>(-NAN) == 0xff);
  CHECK(narrow<F8E5m2>(NAN) == 0x7f);
}

TEST_CASE("sizes, names and numbers of the dtypes are those of the C ABI") {
  const std::vector<std::pair<Dtype, std::pair<int64_t, std::string>>> all = {
      {Dtype::f32, {4, "f32"}},
      {Dtype::f64, {8, "f64"}},
      {Dtype::f16, {2, "f16"}},
      {Dtype::bf16, {2, "bf16"}},
      {Dtype::f8_e4m3fn, {1, "f8e4m3fn"}},
      {Dtype::f8_e5m2, {1, "f8e5m2"}},
  };
  int32_t number = 0;
  for (const auto& [dtype, facts] : all) {
    CHECK(static_cast<int32_t>(dtype) == ++number);
    CHECK(size_of(dtype) == facts.first);
    CHECK(name_of(dtype) == facts.second);
  }
  CHECK(size_of(static_cast<Dtype>(0)) == 0);
  CHECK(size_of(static_cast<Dtype>(7)) == 0);
}

TEST_CASE("finiteness is read from the bits") {
  CHECK(is_nan(-NAN));
  CHECK(is_nan(double_from(0x7ff0000000000001u)));
  CHECK_FALSE(is_nan(INFINITY));
  CHECK_FALSE(is_nan(static_cast<double>(-INFINITY)));
  CHECK(is_finite(3.4e38f));
  CHECK(is_finite(-1.7e308));
  CHECK_FALSE(is_finite(INFINITY));
  CHECK_FALSE(is_finite(-NAN));
  CHECK_FALSE(is_finite(static_cast<double>(NAN)));
}
