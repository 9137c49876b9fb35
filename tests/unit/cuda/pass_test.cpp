// The GPU's passes, simulated, against the CPU backend: the same bits whatever the order and number of blocks.

#include "tests/catch.hpp"
#include "tests/unit/cpu/reference.hpp"
#include "tests/unit/cuda/simulated.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;

namespace {

constexpr Dtype all[] = {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::f8_e4m3fn, Dtype::f8_e5m2};
constexpr Dtype writable[] = {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16};

/// Of all sizes around the vectors, blocks and pieces, at every address that an element allows.
std::vector<Array> random_arrays(std::mt19937_64& random, std::span<const Dtype> dtypes, bool specials) {
  const std::uint64_t sizes[] = {0,   1,   2,   3,   7,    8,    15,   16,   17,   31,    32,    33,    63,    64,   65,
                                 127, 511, 512, 513, 1000, 2048, 2049, 4096, 4099, 16385, 32767, 32768, 32769, 70001};
  std::vector<Array> arrays;
  for (const std::uint64_t size : sizes) {
    for (int i = 0; i < 4; ++i) {
      Array& array = arrays.emplace_back(dtypes[random() % dtypes.size()], size, random() % 17);
      fill(array, random, specials && random() % 2 == 0);
    }
  }
  return arrays;
}

}  // namespace

TEST_CASE("statistics of a random list are the CPU's whatever the order and number of blocks") {
  std::mt19937_64 random(1);
  for (const bool specials : {false, true}) {
    std::vector<Array> arrays = random_arrays(random, all, specials);
    const std::vector<Tensor> tensors = tensors_of(arrays);
    const auto observe = [](TensorList& list, Found& found) { list.observe(found.findings(1e-3), nullptr); };
    const Found expected = on_the_cpu(tensors, observe);
    CHECK(expected.found_inf == (specials ? 1.0f : 0.0f));
    for (const std::uint32_t blocks : {1u, 2u, 3u, 17u, 100u}) {
      INFO(blocks << " blocks");
      SimulatedList list(random, blocks);
      list.assign(tensors.data(), tensors.size(), nullptr);
      for (int again = 0; again < 3; ++again) {  // the ticket is as it was
        Found found(tensors.size());
        observe(list, found);
        CHECK(found == expected);
      }
    }
  }
}

TEST_CASE("a bf16 tensor has the CPU's sum at each of the places that an address can have in 16 bytes") {
  std::mt19937_64 random(2);
  for (std::size_t shift = 0; shift < 8; ++shift) {
    for (const std::uint64_t count : {1u, 5u, 31u, 200u, 32768u, 40000u}) {
      INFO(count << " elements, shifted by " << shift);
      std::vector<Array> arrays(1, Array(Dtype::bf16, count, shift));
      fill(arrays[0], random, false);
      const std::vector<Tensor> tensors = tensors_of(arrays);
      const auto observe = [](TensorList& list, Found& found) { list.observe(found.findings(1e-4), nullptr); };
      SimulatedList list(random, 2);
      list.assign(tensors.data(), 1, nullptr);
      Found found(1);
      observe(list, found);
      CHECK(found == on_the_cpu(tensors, observe));
    }
  }
}

TEST_CASE("more pieces than the fold has chains are added up as on the CPU") {
  std::mt19937_64 random(3);
  std::vector<Array> arrays(1, Array(Dtype::f8_e5m2, 300 * 32768 + 77, 3));
  fill(arrays[0], random, false);
  for (int i = 0; i < 700; ++i)
    fill(arrays.emplace_back(all[random() % 6], random() % 40, random() % 5), random, false);
  const std::vector<Tensor> tensors = tensors_of(arrays);
  const auto observe = [](TensorList& list, Found& found) { list.observe(found.findings(0), nullptr); };
  SimulatedList list(random, 13);
  list.assign(tensors.data(), tensors.size(), nullptr);
  Found found(tensors.size());
  observe(list, found);
  CHECK(found == on_the_cpu(tensors, observe));
}

TEST_CASE("a random list is unscaled in place to the CPU's bits, and nothing beside it is touched") {
  std::mt19937_64 random(4);
  const std::vector<Array> arrays = random_arrays(random, writable, true);
  for (const float scale : {1.0f, 1.0f / 1024, 0.3f, 0.0f, INFINITY, NAN}) {
    INFO("scale " << scale);
    const auto unscale = [&](TensorList& list, Found& found) { list.unscale(&scale, found.findings(0.01), nullptr); };
    std::vector<Array> expected = arrays;
    const Found expected_found = on_the_cpu(tensors_of(expected), unscale);
    std::vector<Array> values = arrays;
    const std::vector<Tensor> tensors = tensors_of(values);
    SimulatedList list(random, 11);
    list.assign(tensors.data(), tensors.size(), nullptr);
    Found found(tensors.size());
    unscale(list, found);
    CHECK(found == expected_found);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) wrong += !(values[i] == expected[i]);
    CHECK(wrong == 0);
  }
}

TEST_CASE("a random list is unscaled, clipped and cast into outputs to the CPU's bits") {
  std::mt19937_64 random(5);
  std::vector<Array> arrays = random_arrays(random, writable, true);
  const std::vector<Tensor> tensors = tensors_of(arrays);
  std::vector<Array> outputs;
  for (const Array& array : arrays) outputs.emplace_back(writable[random() % 4], array.count(), random() % 17);
  const float scales[] = {1.0f, 1.0f / 3};
  const float coefficients[] = {1.0f, 0.7f};
  for (const float scale : scales) {
    for (const float coefficient : coefficients) {
      for (const float limit : {2e-4f, INFINITY}) {
        INFO(scale << " " << coefficient << " " << limit);
        const auto write_into = [&](std::vector<Array>& into) {
          return [&](TensorList& list, Found& found) {
            list.write(tensors_of(into).data(), {&scale, &coefficient, limit}, found.findings(0), nullptr);
          };
        };
        std::vector<Array> expected = outputs;
        const Found expected_found = on_the_cpu(tensors, write_into(expected));
        std::vector<Array> written = outputs;
        SimulatedList list(random, 5);
        list.assign(tensors.data(), tensors.size(), nullptr);
        Found found(tensors.size());
        write_into(written)(list, found);
        CHECK(found == expected_found);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < written.size(); ++i) wrong += !(written[i] == expected[i]);
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("each of the 2^16 and 2^8 patterns, alone in a tensor, has the CPU's statistics") {
  std::mt19937_64 random(6);
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f8_e4m3fn, Dtype::f8_e5m2}) {
    INFO(name_of(dtype));
    Array array(dtype, std::uint64_t{1} << (8 * size_of(dtype)));
    for (std::uint64_t i = 0; i < array.count(); ++i) array.set(i, i);
    std::vector<Tensor> tensors(array.count(), array.tensor());
    for (std::uint64_t i = 0; i < array.count(); ++i) {
      tensors[i].data = static_cast<std::byte*>(tensors[i].data) + i * array.size();
      tensors[i].count = 1;
    }
    const auto observe = [](TensorList& list, Found& found) { list.observe(found.findings(0.1), nullptr); };
    SimulatedList list(random, 20);
    list.assign(tensors.data(), tensors.size(), nullptr);
    Found found(tensors.size());
    observe(list, found);
    CHECK(found == on_the_cpu(tensors, observe));
  }
}

TEST_CASE("every f16 and bf16 pattern is unscaled, and cast to every dtype, to the CPU's bits") {
  std::mt19937_64 random(7);
  for (const Dtype from : {Dtype::f16, Dtype::bf16}) {
    Array array(from, 1 << 16);
    for (std::uint64_t i = 0; i < array.count(); ++i) array.set(i, i);
    const std::vector<Tensor> tensors = {array.tensor()};
    for (const Dtype to : writable) {
      for (const float scale : {1.0f, 1.0f / 65536, 1.0f / 3, 1024.0f, 0x1p-140f, 0.0f, INFINITY}) {
        INFO(name_of(from) << " to " << name_of(to) << ", scale " << scale);
        Array expected(to, array.count());
        Array written(to, array.count());
        const auto write_into = [&](Array& into) {
          return [&](TensorList& list, Found& found) {
            const Tensor output = into.tensor();
            list.write(&output, {.inverse_scale = &scale}, found.findings(0), nullptr);
          };
        };
        on_the_cpu(tensors, write_into(expected));
        SimulatedList list(random, 2);
        list.assign(tensors.data(), 1, nullptr);
        Found found(1);
        write_into(written)(list, found);
        CHECK(written == expected);
      }
    }
  }
}
