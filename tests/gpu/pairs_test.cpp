// Elements of 8 and 16 bits are looked at by whole vectors where nothing in them asks for more (kernels/cuda/lane.hpp):
// what does ask, in every place of a vector and of a run.
#include "tests/gpu/gpu.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;

namespace {

Found seen_by_the_gpu(cuda::DeviceList& list, std::size_t tensors, cuda::Pass pass, double threshold,
                      cudaStream_t stream) {
  list.run({.pass = pass, .threshold = threshold}, stream);
  Found found(tensors);
  const ListCore core = list.read(found.each.data(), stream);
  found.total = core.seen;
  found.found_inf = core.shown.found_inf;
  return found;
}

/// Observed, and (what can be written) unscaled, with the CPU's findings and bits.
void check(std::vector<Array> arrays, double threshold) {
  const GpuStream stream;
  cuda::DeviceScaler scaler(0, torch_at(1024));
  cuda::DeviceList list(scaler);
  const GpuArrays values(arrays);
  list.assign(values.tensors());
  const Found expected = on_the_cpu(
      tensors_of(arrays), [&](TensorList& cpu, Found& found) { cpu.observe(found.findings(threshold), nullptr); });
  CHECK(seen_by_the_gpu(list, arrays.size(), cuda::Pass::observe, threshold, stream) == expected);
  if (arrays.front().size() == 1) return;
  CHECK(seen_by_the_gpu(list, arrays.size(), cuda::Pass::unscale, threshold, stream) == expected);
  const float inverse = rule::inverse_of(1024);
  on_the_cpu(tensors_of(arrays),
             [&](TensorList& cpu, Found& found) { cpu.unscale(&inverse, found.findings(threshold), nullptr); });
  CHECK(values.different_from(arrays) == 0);
}

/// Of either sign, with an exponent from `least` to `most`.
std::uint64_t bf16_between(std::mt19937_64& random, int least, int most) {
  const int exponent = least + static_cast<int>(random() % static_cast<std::uint64_t>(most - least + 1));
  return (random() % 2) << 15 | static_cast<std::uint64_t>(exponent + 127) << 7 | random() % 128;
}

/// By the place in a tensor.
template <class Element>
Array bf16_array(std::size_t shift, const Element& element) {
  constexpr std::uint64_t run = run_elements(2);
  Array array(Dtype::bf16, 21 * run + 77, shift);
  for (std::uint64_t i = 0; i < array.count(); ++i) array.set(i, element(i / run, i % run));
  return array;
}

/// Runs that begin with what is low or nothing, go on with usual values or low ones, and have large ones in between.
Array mixed_runs(std::mt19937_64& random, std::size_t shift) {
  return bf16_array(shift, [&](std::uint64_t run, std::uint64_t at) {
    if (run % 2 == 1 && random() % 4000 == 0) return bf16_between(random, 59, 70);
    if (run == 2 && at < 500) return std::uint64_t{0};
    return at < 900 || run == 3 ? bf16_between(random, -80, -50) : bf16_between(random, -70, 10);
  });
}

/// So low that no run comes to where low squares make no difference.
Array low_runs(std::mt19937_64& random, std::size_t shift) {
  return bf16_array(shift, [&](std::uint64_t, std::uint64_t) { return bf16_between(random, -75, -56); });
}

/// Every other run comes there; in those between, low squares are lost in a float that has the others, and not in the
/// sum of all.
Array alternating_runs(std::mt19937_64& random, std::size_t shift) {
  return bf16_array(shift, [&](std::uint64_t run, std::uint64_t) {
    if (run % 2 == 0) return bf16_between(random, -48, -46);
    return random() % 2 == 0 ? bf16_between(random, -56, -54) : bf16_between(random, -66, -64);
  });
}

Array usual_values(Dtype dtype, std::mt19937_64& random, std::size_t shift) {
  Array array(dtype, 3000, shift);
  fill(array, random, false);
  return array;
}

}  // namespace

TEST_CASE("squares of bf16 that do not go on in their run are added as on the CPU") {
  std::mt19937_64 random(8);
  std::vector<Array> arrays;
  for (const std::size_t shift : {0u, 1u, 3u, 8u}) {
    for (const auto runs : {mixed_runs, low_runs, alternating_runs}) arrays.push_back(runs(random, shift));
  }
  check(std::move(arrays), 1e-3);
}

TEST_CASE("magnitudes are counted below any threshold, those too that no pair is compared with") {
  std::mt19937_64 random(9);
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f8_e4m3fn, Dtype::f8_e5m2}) {
    for (const double threshold : {0.0, 1e-45, 0x1p-24, 0x1p-14, 1.0, 448.0, 1e37, HUGE_VAL}) {
      INFO(name_of(dtype) << " below " << threshold);
      std::vector<Array> arrays;
      for (const std::size_t shift : {0u, 1u}) arrays.push_back(usual_values(dtype, random, shift));
      for (std::uint64_t i = 0; i < 600; i += 3) arrays[0].set(i, 0);
      if (dtype == Dtype::bf16) arrays[1].set(1000, 0x7d00);
      check(std::move(arrays), threshold);
    }
  }
}

TEST_CASE("one infinity or NaN in a vector of finite elements is unscaled to the CPU's bits, wherever it is") {
  std::mt19937_64 random(10);
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    const std::uint64_t infinity = dtype == Dtype::f16 ? 0x7c00 : 0x7f80;
    for (const std::uint64_t special : {infinity, infinity | 0x8000, infinity | 0x2b, infinity | 0x802b}) {
      INFO(name_of(dtype) << " " << special);
      std::vector<Array> arrays;
      for (std::uint64_t place = 0; place < 8; ++place) {
        arrays.push_back(usual_values(dtype, random, 0));
        arrays.back().set(1600 + place, special);
      }
      check(std::move(arrays), 1e-3);
    }
  }
}

TEST_CASE("whole pieces of 16 bits, which two groups read together, have each group's own elements") {
  std::mt19937_64 random(11);
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    INFO(name_of(dtype));
    std::vector<Array> arrays;
    arrays.emplace_back(dtype,
                        2 * piece_elements(2) + 5);  // two pieces and a rest, the first of a list: where a row begins
    fill(arrays.back(), random, false);
    const GpuArrays values(arrays);
    REQUIRE(reinterpret_cast<std::uintptr_t>(values.tensors()[0].data) % 128 == 0);
    check(std::move(arrays), 1e-3);
  }
}
