// Finite values beside nan and infinities, on the GPU with the CPU's bits, whichever pass finds them.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <random>

#include "lib/device/backend.hpp"
#include "tests/gpu/graph.hpp"
#include "tests/unit/scaler/library_scaler.hpp"

using namespace tare;
using kernels::test::Array;
using kernels::test::GpuArrays;
using kernels::test::GpuStream;
using kernels::test::tensors_of;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The bits of nan and infinity, where the dtype has one.
std::uint64_t torn_bits(Dtype dtype, bool is_nan) {
  if (dtype == Dtype::f8_e4m3fn) return 0x7f;
  if (dtype == Dtype::f8_e5m2) return is_nan ? 0xfe : 0x7c;
  return kernels::test::encode(dtype, is_nan ? nan : -inf);
}

/// Finite values of every magnitude, subnormal ones among them.
std::uint64_t finite_bits(Dtype dtype, std::mt19937_64& random) {
  for (;;) {
    const std::uint64_t bits = random() >> (64 - 8 * size_of(dtype));
    const double value = kernels::test::decode(dtype, bits);
    if (std::isfinite(value) && (dtype != Dtype::f64 || std::fabs(value) < 1e150)) return bits;
  }
}

/// Every dtype in lengths from nothing to several pieces, whole ones and torn ones side by side; some begin at an odd
/// place.
std::vector<Array> torn_arrays(std::mt19937_64& random, bool with_fp8) {
  std::vector<Array> arrays;
  for (int id = 1; id <= (with_fp8 ? 6 : 4); ++id) {
    const auto dtype = static_cast<Dtype>(id);
    const std::uint64_t piece = kernels::piece_elements(static_cast<std::size_t>(size_of(dtype)));
    const std::uint64_t many = 3 * piece / (kernels::test::share() > 100 ? 16 : 1) + 77;
    for (const std::uint64_t count :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{33}, std::uint64_t{1000}, many}) {
      for (const int torn : {0, 1, 7}) {
        Array& array = arrays.emplace_back(dtype, count, count % 3);
        for (std::uint64_t i = 0; i < count; ++i) array.set(i, finite_bits(dtype, random));
        // In the first half alone: of several pieces some are whole.
        for (int k = 0; count > 0 && k < torn; ++k)
          array.set(random() % ((count + 1) / 2), torn_bits(dtype, k % 3 != 0));
      }
    }
  }
  return arrays;
}

std::unique_ptr<LossScaler> scaler_on(const char* device) {
  return make_scaler(parse_config(
      fmt::format(R"({{"policy":"torch","initial_scale":512,"device":"{}","finite_statistics":true}})", device)
          .c_str()));
}

void check_alike(const std::vector<kernels::FiniteValues>& found, const std::vector<kernels::FiniteValues>& expected) {
  REQUIRE(found.size() == expected.size());
  std::size_t torn = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO("tensor " << i);
    CHECK(found[i].nans == expected[i].nans);
    CHECK(found[i].infinities == expected[i].infinities);
    CHECK(bits_of(found[i].max_abs) == bits_of(expected[i].max_abs));
    CHECK(bits_of(found[i].sum_of_squares) == bits_of(expected[i].sum_of_squares));
    torn += found[i].nans + found[i].infinities > 0 ? 1 : 0;
  }
  CHECK(torn > 0);
}

enum class Way { observe, unscale, write_in_place, write_by_norm };

void run(Grads& grads, const std::vector<kernels::Tensor>& tensors, Way way, kernels::Stream stream) {
  switch (way) {
    case Way::observe:
      return grads.observe(stream);
    case Way::unscale:
      return grads.unscale(stream);
    case Way::write_in_place:
      return grads.write(tensors, R"({"clip_value":0.5})", stream);
    case Way::write_by_norm:
      return grads.write(tensors, R"({"clip_norm":2})", stream);
  }
}

}  // namespace

TEST_CASE("finite values beside others are the CPU's in every bit, before anything is written over them") {
  for (const Way way : {Way::observe, Way::unscale, Way::write_in_place, Way::write_by_norm}) {
    INFO("pass " << static_cast<int>(way));
    std::mt19937_64 random(static_cast<unsigned>(way) + 1);
    std::vector<Array> arrays = torn_arrays(random, way == Way::observe);
    const GpuArrays on_gpu(arrays);
    const std::vector<kernels::Tensor> here = tensors_of(arrays), there = on_gpu.tensors();
    const auto cpu = scaler_on("cpu"), gpu = scaler_on("cuda:0");
    const auto expected = cpu->make_grads(here), found = gpu->make_grads(there);
    const GpuStream stream;
    for (const kernels::FiniteValues& none : found->last_pass(stream).finite) CHECK(none.max_abs == 0);
    run(*expected, here, way, nullptr);
    run(*found, there, way, stream);
    const GradsReport report = found->last_pass(stream);
    check_alike(report.finite, expected->last_pass(nullptr).finite);
    // A norm that is nan makes nan of everything, on each machine in its own way.
    if (way != Way::write_by_norm) CHECK(on_gpu.different_from(arrays) == 0);
    CHECK(found->statistics(stream) == expected->statistics(nullptr));
    CHECK(gpu->statistics(stream) == cpu->statistics(nullptr));  // what is looked at ahead counts once
  }
}

TEST_CASE("a list that counts finite values is captured, and a replay counts those of its time") {
  std::mt19937_64 random(9);
  std::vector<Array> arrays;
  for (const std::uint64_t count : {5000U, 40U}) {
    Array& array = arrays.emplace_back(Dtype::f16, count);
    for (std::uint64_t i = 0; i < count; ++i) array.set(i, finite_bits(Dtype::f16, random));
  }
  GpuArrays on_gpu(arrays);
  const auto gpu = scaler_on("cuda:0");
  const auto grads = gpu->make_grads(on_gpu.tensors());
  const GpuStream stream;
  const kernels::test::Graph graph(stream, [&] { grads->unscale(stream); });
  graph.replay(stream);
  CHECK(grads->last_pass(stream).finite[0].nans == 0);
  arrays[0].set(4321, torn_bits(Dtype::f16, true));
  arrays[1].set(7, torn_bits(Dtype::f16, false));
  on_gpu.upload();
  graph.replay(stream);
  const auto cpu = scaler_on("cpu");
  const auto expected = cpu->make_grads(tensors_of(arrays));
  expected->observe(nullptr);
  check_alike(grads->last_pass(stream).finite, expected->last_pass(nullptr).finite);
}

TEST_CASE("a monitor that waits for no GPU is told of finite values beside others, too") {
  std::vector<Array> arrays;
  for (const std::uint64_t at : {3U, 17U}) {
    Array& array = arrays.emplace_back(Dtype::f32, 100);
    for (std::uint64_t i = 0; i < 100; ++i) array.set(i, kernels::test::encode(Dtype::f32, 2.0));
    array.set(at, torn_bits(Dtype::f32, at == 3));
  }
  const GpuArrays on_gpu(arrays);
  const auto gpu = scaler_on("cuda:0");
  const auto grads = gpu->make_grads(on_gpu.tensors());
  const GpuStream stream;
  grads->observe(stream);
  kernels::test::must(cudaMemsetAsync(on_gpu.tensors()[0].data, 0, 400, stream));  // what the pass did not see
  std::vector<kernels::Statistics> each(2);
  std::vector<kernels::FiniteValues> finite(2);
  kernels::ListCore list;
  kernels::ScalerCore scaler;
  tare_backend_looks* looks = nullptr;
  tare_backend_error error;
  REQUIRE(cuda_backend().looks_make(&looks, 0, &error) == 0);
  REQUIRE(cuda_backend().looks_add_list(looks, grads->backend_list(), stream, &error) == 0);
  tare_backend_seen into{};
  into.statistics = each.data();
  into.finite = finite.data();
  into.list = &list;
  into.scaler = &scaler;
  REQUIRE(cuda_backend().looks_read(looks, &into, &error) == 0);
  cuda_backend().looks_end(looks);
  CHECK(finite[0].nans == 1);
  CHECK(finite[1].infinities == 1);
  for (const kernels::FiniteValues& one : finite) {
    CHECK(one.max_abs == 2);
    CHECK(one.sum_of_squares == 99 * 4);
  }
}
