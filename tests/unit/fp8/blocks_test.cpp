// Blocks of elements against one at a time, bit by bit.
#include "kernels/fp8/blocks.hpp"

#include <limits>
#include <vector>

#include "tests/catch.hpp"

using namespace tare;
using namespace tare::kernels;

namespace {

/// Every sign, exponent and upper part of a mantissa, with lower parts about a tie.
std::vector<float> floats_of_all_kinds() {
  std::vector<float> values;
  for (std::uint32_t upper = 0; upper < 0x10000u; ++upper) {
    for (const std::uint32_t lower : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      values.push_back(float_from(upper << 16 | lower));
    }
  }
  return values;
}

template <class Format>
std::size_t differing(const std::vector<float>& values) {
  std::vector<std::uint8_t> together(values.size());
  fp8::saturate_block<Format>(values.data(), values.size(), together.data());
  std::size_t count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) count += together[i] != cuda::saturated<Format>(values[i]) ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("every f16 is the same float in a block, and as quiet once it is multiplied") {
  using F16Element = cuda::Element<Dtype::f16>;
  std::vector<std::uint16_t> bits(0x10000);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
  std::vector<float> values(bits.size());
  fp8::widen_block<F16Element>(bits.data(), bits.size(), values.data());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const float one = F16Element::value(bits[i]);
    const bool same = bits_of(values[i]) == bits_of(one) || (is_nan(one) && is_nan(values[i]));
    wrong += same && bits_of(cuda::product(values[i], 3.0f)) == bits_of(cuda::product(one, 3.0f)) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("floats of all kinds are the same fp8 in a block") {
  const std::vector<float> values = floats_of_all_kinds();
  CHECK(differing<F8E4m3fn>(values) == 0);
  CHECK(differing<F8E5m2>(values) == 0);
}

TEST_CASE("floats of all kinds are multiplied to the same bits in a block, NaN among them") {
  const std::vector<float> values = floats_of_all_kinds();
  for (const float factor : {0.0f, -0.0f, 3.7f, -0x1p-140f, 0x1p127f, std::numeric_limits<float>::infinity()}) {
    INFO(factor);
    std::vector<float> together = values;
    fp8::multiply_block(together.data(), together.size(), factor);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      wrong += bits_of(together[i]) == bits_of(cuda::product(values[i], factor)) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}
