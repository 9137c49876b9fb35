// What is told of a tensor's values: numbers worked out by hand.
#include "lib/monitor/summary.hpp"
#include "kernels/cpu/summarise.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/catch.hpp"

using namespace tare;
using monitor::deviation;
using monitor::ExponentHistogram;
using monitor::norm;
using monitor::Summary;

namespace {

template <class Bits>
Summary seen(std::vector<Bits> values, Dtype dtype) {
  return kernels::cpu::summarise({values.data(), values.size(), dtype, 0}, 1);
}

std::uint64_t in_bin(const Summary& summary, int exponent) {
  return summary.exponents.bins[static_cast<std::size_t>(exponent - ExponentHistogram::lowest)];
}

}  // namespace

TEST_CASE("finite values are told beside nan and infinities") {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Summary summary = seen<float>({3, nan, -4, inf, 0, -inf, -0.0F, 1}, Dtype::f32);
  CHECK(summary.count == 8);
  CHECK(summary.nans == 1);
  CHECK(summary.infinities == 2);
  CHECK(summary.zeros == 2);
  CHECK(summary.min == -4);
  CHECK(summary.max == 3);
  CHECK(summary.max_abs == 4);
  CHECK(summary.mean == 0);
  CHECK(summary.mean_abs == 1.6);
  CHECK(norm(summary) == std::sqrt(26.0));
  CHECK(deviation(summary) == std::sqrt(26.0 / 5));
  CHECK(in_bin(summary, 0) == 1);
  CHECK(in_bin(summary, 1) == 1);
  CHECK(in_bin(summary, 2) == 1);
}

TEST_CASE("subnormal numbers of every dtype are counted, its smallest normal one is not") {
  const auto subnormals = [](const Summary& summary) { return summary.subnormals; };
  CHECK(subnormals(seen<std::uint16_t>({0x0001, 0x83ff, 0x0400, 0x8000}, Dtype::f16)) == 2);
  CHECK(subnormals(seen<std::uint16_t>({0x0001, 0x807f, 0x0080, 0x8000}, Dtype::bf16)) == 2);
  CHECK(subnormals(seen<std::uint8_t>({0x01, 0x87, 0x08, 0x80}, Dtype::f8_e4m3fn)) == 2);
  CHECK(subnormals(seen<std::uint8_t>({0x01, 0x83, 0x04, 0x80}, Dtype::f8_e5m2)) == 2);
  CHECK(subnormals(seen<float>({0x1p-149F, -0x1.fffffcp-127F, 0x1p-126F, -0.0F}, Dtype::f32)) == 2);
  CHECK(subnormals(seen<double>({0x1p-1074, -0x1p-1023, 0x1p-1022, -0.0}, Dtype::f64)) == 2);
}

TEST_CASE("values of every dtype are read for what they are") {
  const Summary half = seen<std::uint16_t>({0x7bff, 0xfbff, 0x0001, 0x7c00, 0x7e00}, Dtype::f16);
  CHECK(half.max == 65504);
  CHECK(half.min == -65504);
  CHECK(half.mean == 0x1p-24 / 3);
  CHECK(half.infinities == 1);
  CHECK(half.nans == 1);
  CHECK(in_bin(half, -24) == 1);
  CHECK(in_bin(half, 15) == 2);
  const Summary brain = seen<std::uint16_t>({0x7f7f, 0xff80, 0x3f80, 0x7fc0}, Dtype::bf16);
  CHECK(brain.max == 0x1.fep127);
  CHECK(brain.min == 1);
  CHECK(brain.exponents.above == 1);
  const Summary e4m3 = seen<std::uint8_t>({0x7e, 0xff, 0x81}, Dtype::f8_e4m3fn);
  CHECK(e4m3.max == 448);
  CHECK(e4m3.min == -0x1p-9);
  CHECK(e4m3.nans == 1);
  const Summary e5m2 = seen<std::uint8_t>({0x7b, 0xfc, 0x7d}, Dtype::f8_e5m2);
  CHECK(e5m2.max == 57344);
  CHECK(e5m2.infinities == 1);
  CHECK(e5m2.nans == 1);
}

TEST_CASE("what lies beyond the histogram's ends is counted at them") {
  const Summary summary = seen<double>({0x1p-48, 0x1.fp-49, 0x1p-1074, 0x1.fp15, 0x1p16, 1e308}, Dtype::f64);
  CHECK(in_bin(summary, -48) == 1);
  CHECK(summary.exponents.below == 2);
  CHECK(in_bin(summary, 15) == 1);
  CHECK(summary.exponents.above == 2);
}

TEST_CASE("the deviation of values far from zero is right, over many blocks") {
  std::vector<double> values(100'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1e9 + (i % 2 == 0 ? 1.0 : -1.0);
  const Summary summary = seen(values, Dtype::f64);
  CHECK(summary.mean == 1e9);
  CHECK(std::fabs(deviation(summary) - 1) < 1e-12);
}

TEST_CASE("no finite value: counts alone") {
  const Summary none = seen<float>({}, Dtype::f32);
  CHECK(none.count == 0);
  CHECK(none.max_abs == 0);
  CHECK(deviation(none) == 0);
  const Summary nan = seen<float>({std::numeric_limits<float>::quiet_NaN()}, Dtype::f32);
  CHECK(nan.count == 1);
  CHECK(nan.finite() == 0);
  CHECK(norm(nan) == 0);
}
