// Quantising, simulated, against the formats of kernels/dtype.hpp element by element.
#include <algorithm>
#include <numeric>

#include "kernels/cuda/quantise.hpp"
#include "tests/catch.hpp"
#include "tests/unit/cpu/reference.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;

namespace {

std::uint64_t quantised(Dtype from, std::uint64_t bits, Dtype to, float scale) {
  const float value = static_cast<float>(decode(from, bits)) * scale;
  const bool e4m3 = to == Dtype::f8_e4m3fn;
  if (!std::isnan(value))
    return e4m3 ? narrow<F8E4m3fn>(value, Range::saturate) : narrow<F8E5m2>(value, Range::saturate);
  const bool negative = std::isnan(decode(from, bits)) ? std::signbit(decode(from, bits)) : true;
  return negative ? 0xff : 0x7f;
}

/// The list through blocks in random order.
void run(std::mt19937_64& random, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
         const std::vector<std::uint32_t>& slots, const std::vector<float>& scale, std::vector<std::uint32_t>& amax) {
  WorkList work;
  work.assign(inputs);
  std::vector<cuda::Binding> from;
  std::vector<cuda::Binding> to;
  for (const Tensor& tensor : inputs) from.push_back(cuda::binding_of(tensor));
  for (const Tensor& tensor : outputs) to.push_back(cuda::binding_of(tensor));
  const std::vector<float> largest(scale.size(), 448.0f);
  cuda::QuantiseArguments all = {};
  all.pieces = work.pieces().data();
  all.inputs = from.data();
  all.outputs = to.data();
  all.slots = slots.data();
  all.factor = scale.data();
  all.largest = largest.data();
  all.amax = amax.data();
  std::ranges::copy(work.segments(), all.segments);
  all.segment_count = static_cast<std::int32_t>(work.segments().size());
  all.items = work.items();
  cuda::Turns turns = {};
  all.turns = &turns;
  std::vector<std::uint32_t> order(7);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random);
  for (const std::uint32_t block : order) {
    cuda::CastShared shared;
    cuda::quantise_block(all, {block, 7}, shared);
  }
  CHECK(turns.ticket == 0);
  CHECK(turns.cursor == 0);
}

}  // namespace

TEST_CASE("a list of any sizes and addresses is quantised as element by element, with the amax of each slot") {
  std::mt19937_64 random(1);
  constexpr Dtype sources[] = {Dtype::f32, Dtype::f16, Dtype::bf16};
  std::vector<Array> arrays;
  std::vector<Array> outputs;
  std::vector<Array> expected;
  std::vector<std::uint32_t> slots;
  const std::vector<float> scale = {1.0f, 448.0f, 1000.0f, 0.3f};
  std::vector<std::uint32_t> amax(4, 0);
  std::vector<std::uint32_t> expected_amax(4, 0);
  for (int i = 0; i < 60; ++i) {
    const std::uint64_t sizes[] = {0, 1, 7, 8, 33, 511, 4096, 32768, 40001};
    Array& array = arrays.emplace_back(sources[random() % 3], sizes[random() % 9], random() % 11);
    const Dtype to = random() % 2 == 0 ? Dtype::f8_e4m3fn : Dtype::f8_e5m2;
    const std::uint32_t slot = slots.emplace_back(static_cast<std::uint32_t>(random() % 4));
    fill(array, random, false);
    if (slot == 3 && array.count() > 0) array.set(array.count() - 1, encode(array.dtype(), NAN));
    outputs.emplace_back(to, array.count(), random() % 11);
    expected.push_back(outputs.back());
    for (std::uint64_t k = 0; k < array.count(); ++k) {
      expected.back().set(k, quantised(array.dtype(), array.get(k), to, scale[slot]));
      const std::uint32_t magnitude = bits_of(std::fabs(static_cast<float>(decode(array.dtype(), array.get(k)))));
      expected_amax[slot] = std::max(expected_amax[slot], magnitude);
    }
  }
  std::vector<Tensor> from;
  std::vector<Tensor> to;
  for (Array& array : arrays) from.push_back(array.tensor());
  for (Array& array : outputs) to.push_back(array.tensor());
  run(random, from, to, slots, scale, amax);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) wrong += !(outputs[i] == expected[i]);
  CHECK(wrong == 0);
  for (std::size_t slot = 0; slot < 3; ++slot) CHECK(amax[slot] == expected_amax[slot]);
  CHECK(std::isnan(float_from(amax[3])));  // a NaN among the values is not lost
}

TEST_CASE("every f16 and bf16 pattern is quantised to both fp8 formats as element by element") {
  std::mt19937_64 random(2);
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    Array array(dtype, 1 << 16);
    for (std::uint64_t i = 0; i < array.count(); ++i) array.set(i, i);
    for (const Dtype to : {Dtype::f8_e4m3fn, Dtype::f8_e5m2}) {
      for (const float scale : {1.0f, 0.01f, 300.0f, 0x1p-130f}) {
        INFO(name_of(dtype) << " to " << name_of(to) << ", scale " << scale);
        Array written(to, array.count());
        Array expected(to, array.count());
        for (std::uint64_t i = 0; i < array.count(); ++i) expected.set(i, quantised(dtype, i, to, scale));
        std::vector<std::uint32_t> amax(1, 0);
        run(random, {array.tensor()}, {written.tensor()}, {0}, {scale}, amax);
        CHECK(written == expected);
      }
    }
  }
}
