// Block scales against TransformerEngine's arithmetic (tests/vectors/block_scales.json), and against what the formats
// promise, for every float near a border and every pattern of the narrow formats.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "kernels/fp8/matrix.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

using namespace tare;
using namespace tare::kernels::fp8;
using nlohmann::json;

namespace {

const json& vectors() {
  static const json all = json::parse(std::ifstream(TARE_TEST_SOURCE "/vectors/block_scales.json"));
  return all;
}

float number(const json& bits) {
  return float_from(static_cast<std::uint32_t>(std::stoul(bits.get<std::string>(), nullptr, 16)));
}

bool same(float a, float b) {
  return bits_of(a) == bits_of(b) || (std::isnan(a) && std::isnan(b));
}

}  // namespace

TEST_CASE("MXFP8: every vector") {
  int wrong = 0;
  for (const json& given : vectors().at("mxfp8")) {
    const std::uint8_t scale = mxfp8_scale(number(given.at("amax")), given.at("largest").get<float>());
    wrong += scale != given.at("scale").get<std::uint8_t>();
    wrong += !same(inverse_of_e8m0(scale), number(given.at("inverse")));
  }
  CHECK(vectors().at("mxfp8").size() > 500);
  CHECK(wrong == 0);
}

TEST_CASE("MXFP8: the exponent is the least whose power of two is not below the value") {
  // All mantissas of the exponents at which something changes: denormals, the least normal, 1, the largest.
  std::size_t wrong = 0;
  for (const std::uint32_t exponent : {0u, 1u, 127u, 0xfdu, 0xfeu}) {
    for (std::uint32_t mantissa = 0; mantissa < 1u << 23; mantissa += exponent == 127 ? 1 : 3) {
      const float value = float_from(exponent << 23 | mantissa);
      const std::uint8_t scale = e8m0_from(value);
      const bool fits = value_of_e8m0(scale) >= value || scale == 0xfe;
      const bool least = scale == 0 || value_of_e8m0(static_cast<std::uint8_t>(scale - 1)) < value;
      wrong += !fits || !least;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("MXFP8: the edges") {
  CHECK(e8m0_from(NAN) == 0xff);
  CHECK(e8m0_from(INFINITY) == 0xfe);
  CHECK(e8m0_from(FLT_MAX) == 0xfe);  // would be 2^128: the largest that there is
  CHECK(e8m0_from(0x1p127f) == 0xfe);
  CHECK(e8m0_from(std::nextafter(0x1p126f, INFINITY)) == 0xfe);
  CHECK(e8m0_from(0.0f) == 0);
  CHECK(e8m0_from(0x1p-149f) == 0);
  CHECK(e8m0_from(0x1p-127f) == 0);
  CHECK(e8m0_from(std::nextafter(0x1p-127f, 1.0f)) == 1);
  CHECK(e8m0_from(0x1p-126f) == 1);
  CHECK(std::isnan(value_of_e8m0(0xff)));
  CHECK(std::isnan(inverse_of_e8m0(0xff)));
  for (int scale = 0; scale < 0xff; ++scale) {
    CHECK(value_of_e8m0(static_cast<std::uint8_t>(scale)) == std::ldexp(1.0f, scale - 127));
    CHECK(inverse_of_e8m0(static_cast<std::uint8_t>(scale)) == std::ldexp(1.0f, 127 - scale));
  }
}

TEST_CASE("MXFP8: no value of a block is cut off, and at most one bit of the range is lost") {
  std::size_t wrong = 0;
  for (std::uint32_t pattern = 1; pattern < 0x7f80; ++pattern) {  // every positive finite bf16
    const float amax = widen<Bf16>(static_cast<std::uint16_t>(pattern));
    for (const float largest : {448.0f, 57344.0f}) {
      const std::uint8_t scale = mxfp8_scale(amax, largest);
      const double scaled = static_cast<double>(amax) * static_cast<double>(inverse_of_e8m0(scale));
      // The product with 1 / largest is rounded: a multiple of the largest by a power of two may come out one ulp
      // below.
      wrong += scaled > static_cast<double>(largest) * (1 + 0x1p-23);
      wrong += scale > 0 && scaled <= static_cast<double>(largest) / 2 * (1 - 0x1p-23);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("Float8BlockScaling: every vector") {
  int wrong = 0;
  for (const json& given : vectors().at("blockwise")) {
    const std::string input = given.at("input");
    const BlockwiseParams params{given.at("power_of_two").get<bool>(), number(given.at("epsilon"))};
    const float scale = blockwise_scale(params, number(given.at("amax")), given.at("largest").get<float>(),
                                        input == "f32"   ? Dtype::f32
                                        : input == "f16" ? Dtype::f16
                                                         : Dtype::bf16);
    wrong += !same(scale, number(given.at("scale")));
    wrong += !same(blockwise_scale_inverse(scale), number(given.at("inverse")));
  }
  CHECK(vectors().at("blockwise").size() > 1000);
  CHECK(wrong == 0);
}

TEST_CASE("Float8BlockScaling: the edges") {
  const BlockwiseParams powers;
  const BlockwiseParams exact{false, 0};
  for (const float amax : {0.0f, INFINITY, NAN}) CHECK(blockwise_scale(powers, amax, 448, Dtype::f32) == 1.0f);
  CHECK(blockwise_scale(exact, 0x1p-149f, 448, Dtype::f32) == FLT_MAX);
  CHECK(blockwise_scale(powers, 0x1p-149f, 448, Dtype::f32) == 0x1p127f);
  CHECK(blockwise_scale(exact, 0x1p-133f, 448, Dtype::bf16) == widen<Bf16>(0x7f7f));
  CHECK(blockwise_scale(exact, 3.0f, 448, Dtype::f32) == 448.0f / 3);
  CHECK(blockwise_scale(powers, 3.0f, 448, Dtype::f32) == 128.0f);
  CHECK(blockwise_scale({true, 1.0f}, 0x1p-20f, 448, Dtype::f32) == 256.0f);  // the epsilon counts
}

TEST_CASE("NVFP4: every vector") {
  int wrong = 0;
  for (const json& given : vectors().at("nvfp4")) {
    const float tensor_scale = nvfp4_tensor_scale(number(given.at("amax")));
    const std::uint8_t block_scale = nvfp4_block_scale(number(given.at("block_amax")), tensor_scale);
    wrong += !same(tensor_scale, number(given.at("tensor_scale")));
    wrong += block_scale != given.at("block_scale").get<std::uint8_t>();
    wrong += !same(nvfp4_factor(block_scale, tensor_scale), number(given.at("factor")));
  }
  for (const json& given : vectors().at("e2m1")) {
    wrong += e2m1_from(number(given.at("value"))) != given.at("pattern").get<std::uint8_t>();
  }
  CHECK(vectors().at("nvfp4").size() > 500);
  CHECK(wrong == 0);
}

TEST_CASE("NVFP4: the edges") {
  CHECK(nvfp4_tensor_scale(0) == 1.0f);
  CHECK(nvfp4_tensor_scale(INFINITY) == 1.0f);
  CHECK(nvfp4_tensor_scale(NAN) == FLT_MAX);
  CHECK(nvfp4_tensor_scale(0x1p-149f) == FLT_MAX);
  CHECK(nvfp4_tensor_scale(2688.0f) == 1.0f);
  CHECK(nvfp4_block_scale(0, 1) == 0);
  CHECK(nvfp4_block_scale(NAN, 1) == F8E4m3fn::largest);
  CHECK(nvfp4_block_scale(INFINITY, 1) == F8E4m3fn::largest);
  CHECK(nvfp4_factor(0, 1) == FLT_MAX);  // a block of zeros
}

TEST_CASE("E2M1: every pattern there and back, ties to even, beyond the largest the largest") {
  constexpr float values[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (std::uint8_t i = 0; i < 16; ++i) {
    const float value = i < 8 ? values[i] : -values[i - 8];
    CHECK(bits_of(value_of_e2m1(i)) == bits_of(value));
    CHECK(e2m1_from(value) == i);
  }
  for (std::uint8_t i = 0; i < 7; ++i) {
    const float tie = (values[i] + values[i + 1]) / 2;
    CHECK(e2m1_from(tie) == (i % 2 == 0 ? i : i + 1));
    CHECK(e2m1_from(std::nextafter(tie, 0.0f)) == i);
    CHECK(e2m1_from(std::nextafter(tie, 9.0f)) == i + 1);
  }
  CHECK(e2m1_from(1e30f) == 7);
  CHECK(e2m1_from(-INFINITY) == 15);
  CHECK(e2m1_from(NAN) == 7);
}

TEST_CASE("E2M1: floats of every exponent become what rounding their mantissas makes of them") {
  std::uint32_t wrong = 0;
  for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += 0x7ff) {
    const float value = float_from(static_cast<std::uint32_t>(bits));
    if (!is_nan(value)) wrong += e2m1_from(value) != narrow<F4E2m1>(value, Range::saturate);
  }
  CHECK(wrong == 0);
}

TEST_CASE("every byte of fp8 and fp4 stands for its format's value") {
  for (std::uint32_t i = 0; i < 256; ++i) {
    const auto byte = static_cast<std::uint8_t>(i);
    INFO(i);
    CHECK(same(value_of<Format::e4m3>(byte), widen<F8E4m3fn>(byte)));
    CHECK(same(value_of<Format::e5m2>(byte), widen<F8E5m2>(byte)));
    if (i < 16) CHECK(same(value_of<Format::e2m1>(byte), widen<F4E2m1>(byte)));
  }
}
