// Passes on the GPU against the CPU backend, in every bit.
#include "tests/gpu/gpu.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;

namespace {

constexpr Dtype all[] = {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::f8_e4m3fn, Dtype::f8_e5m2};
constexpr std::size_t writable = 4;  // of them

/// Of `count` tensors together at most `budget` elements, each of 0 to `most`, sizes spread evenly over magnitudes.
std::vector<Array> random_arrays(std::mt19937_64& random, std::size_t count, std::uint64_t most, std::uint64_t budget,
                                 std::size_t dtypes, bool specials) {
  std::vector<Array> arrays;
  std::uniform_real_distribution<double> magnitude(0.0, std::log2(static_cast<double>(most) + 1));
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t size = static_cast<std::uint64_t>(std::exp2(magnitude(random))) - (random() % 3 == 0 ? 1 : 0);
    size = std::min({size, most, budget});
    budget -= size;
    Array& array = arrays.emplace_back(all[random() % dtypes], size, random() % 17);
    fill(array, random, specials && random() % 8 == 0);
  }
  return arrays;
}

constexpr double threshold = 1e-3;

Found on_the_gpu(cuda::DeviceList& list, std::size_t tensors, cuda::PassRequest request, cudaStream_t stream) {
  request.threshold = threshold;
  list.run(request, stream);
  Found found(tensors);
  const ListCore core = list.read(found.each.data(), stream);
  found.total = core.seen;
  found.found_inf = core.shown.found_inf;
  return found;
}

/// So many that several blocks share them, and a thread folds more than it reads at once.
void check_small_tensors(Dtype dtype) {
  std::mt19937_64 random(6);
  const GpuStream stream;
  cuda::DeviceScaler scaler(0, torch_at(1024));
  cuda::DeviceList list(scaler);
  const float inverse = rule::inverse_of(1024);
  std::vector<Array> arrays;
  for (int i = 0; i < 4400; ++i) arrays.emplace_back(dtype, random() % 50, random() % 17);
  for (Array& array : arrays) fill(array, random, false);
  std::vector<Array> outputs(arrays.begin(), arrays.end());
  const GpuArrays values(arrays);
  const GpuArrays written(outputs);
  const std::vector<Tensor> targets = written.tensors();
  list.assign(values.tensors());
  const Found expected = on_the_cpu(
      tensors_of(arrays), [](TensorList& cpu, Found& found) { cpu.observe(found.findings(threshold), nullptr); });
  CHECK(on_the_gpu(list, arrays.size(), {.pass = cuda::Pass::observe}, stream) == expected);
  if (size_of(dtype) == 1) return;  // is only read
  cuda::PassRequest write{.pass = cuda::Pass::write};
  write.outputs = targets.data();
  CHECK(on_the_gpu(list, arrays.size(), write, stream) == expected);
  CHECK(on_the_gpu(list, arrays.size(), {.pass = cuda::Pass::unscale}, stream) == expected);
  on_the_cpu(tensors_of(arrays),
             [&](TensorList& cpu, Found& found) { cpu.unscale(&inverse, found.findings(threshold), nullptr); });
  CHECK(values.different_from(arrays) == 0);
  CHECK(written.different_from(arrays) == 0);
}

}  // namespace

TEST_CASE("statistics of random lists of 1 to 20,000 tensors of 0 to 10^7 elements are the CPU's") {
  std::mt19937_64 random(1);
  const GpuStream stream;
  cuda::DeviceScaler scaler(0, torch_at(1));
  cuda::DeviceList list(scaler);
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{2}, std::size_t{30}, std::size_t{500}, 20000 / sample()}) {
    for (const std::uint64_t most : {10u, 1000u, 10000000u}) {
      INFO(count << " tensors of up to " << most);
      std::vector<Array> arrays = random_arrays(random, count, most, 40000000 / share(), 6, true);
      const GpuArrays values(arrays);
      list.assign(values.tensors());
      const Found expected = on_the_cpu(
          tensors_of(arrays), [](TensorList& cpu, Found& found) { cpu.observe(found.findings(threshold), nullptr); });
      for (int again = 0; again < 3; ++again) {
        CHECK(on_the_gpu(list, count, {.pass = cuda::Pass::observe}, stream) == expected);
      }
    }
  }
}

TEST_CASE("many small tensors of one dtype are seen, unscaled and written as on the CPU") {
  for (const Dtype dtype : all) {
    DYNAMIC_SECTION(name_of(dtype)) {
      check_small_tensors(dtype);
    }
  }
}

TEST_CASE("random lists are unscaled in place to the CPU's bits") {
  std::mt19937_64 random(2);
  const GpuStream stream;
  for (const double scale : {1.0, 1024.0, 1.0 / 3, HUGE_VAL}) {
    cuda::DeviceScaler scaler(0, torch_at(scale));
    cuda::DeviceList list(scaler);
    for (const std::size_t count : {1u, 100u, 5000u}) {
      INFO(count << " tensors, scale " << scale);
      std::vector<Array> arrays = random_arrays(random, count, 300000, 8000000 / share(), writable, true);
      const GpuArrays values(arrays);
      list.assign(values.tensors());
      const Found given = on_the_gpu(list, count, {.pass = cuda::Pass::unscale}, stream);
      const float inverse = rule::inverse_of(scale);
      const Found expected = on_the_cpu(tensors_of(arrays), [&](TensorList& cpu, Found& found) {
        cpu.unscale(&inverse, found.findings(threshold), nullptr);
      });
      CHECK(given == expected);
      CHECK(values.different_from(arrays) == 0);
    }
  }
}

TEST_CASE("random lists are unscaled, clipped and cast into outputs to the CPU's bits") {
  std::mt19937_64 random(3);
  const GpuStream stream;
  cuda::DeviceScaler scaler(0, torch_at(3));
  cuda::DeviceList list(scaler);
  for (const double clip_norm : {0.0, 0.5}) {
    for (const auto& [limit, has_nan] : {std::pair{2e-4f, false}, {INFINITY, false}, {INFINITY, true}}) {
      INFO("clip_norm " << clip_norm << ", limit " << limit << (has_nan ? ", with infinities and nan" : ""));
      std::vector<Array> arrays = random_arrays(random, 300, 100000, 4000000 / share(), writable, has_nan);
      std::vector<Array> outputs;
      for (const Array& array : arrays) outputs.emplace_back(all[random() % writable], array.count(), random() % 17);
      const GpuArrays values(arrays);
      const GpuArrays written(outputs);
      const std::vector<Tensor> targets = written.tensors();
      list.assign(values.tensors());
      cuda::PassRequest request{.pass = cuda::Pass::write, .limit = limit, .clip_norm = clip_norm};
      request.outputs = targets.data();
      const Found given = on_the_gpu(list, arrays.size(), request, stream);
      const float inverse = rule::inverse_of(3);
      float coefficient = 1;
      const Found expected = on_the_cpu(tensors_of(arrays), [&](TensorList& cpu, Found& found) {
        cpu.observe(found.findings(threshold), nullptr);
        if (clip_norm > 0) {
          coefficient =
              clip_coefficient(clip_norm, std::sqrt(found.total.sum_of_squares) * static_cast<double>(inverse));
        }
        cpu.write(tensors_of(outputs).data(), {&inverse, &coefficient, limit}, {}, nullptr);
      });
      CHECK(given == expected);
      CHECK(written.different_from(outputs) == 0);
    }
  }
}

TEST_CASE("every f16, bf16 and fp8 pattern is seen, unscaled and cast as on the CPU") {
  const GpuStream stream;
  const double scales[] = {3.0, 65536.0, 1.0, 1.0 / 1024, 0x1p127};
  for (const double scale : std::span(scales).first(sample() == 1 ? 5 : 1)) {
    const float inverse = rule::inverse_of(scale);
    cuda::DeviceScaler scaler(0, torch_at(scale));
    cuda::DeviceList list(scaler);
    for (std::size_t d = 2; d < 6; ++d) {
      std::vector<Array> arrays(1, Array(all[d], std::uint64_t{1} << (8 * size_of(all[d]))));
      for (std::uint64_t i = 0; i < arrays[0].count(); ++i) arrays[0].set(i, i);
      const GpuArrays values(arrays);
      list.assign(values.tensors());
      INFO(name_of(all[d]) << ", scale " << scale);
      const Found expected = on_the_cpu(
          tensors_of(arrays), [](TensorList& cpu, Found& found) { cpu.observe(found.findings(threshold), nullptr); });
      CHECK(on_the_gpu(list, 1, {.pass = cuda::Pass::observe}, stream) == expected);
      for (std::size_t to = 0; to < writable && d < writable; ++to) {
        INFO("to " << name_of(all[to]));
        std::vector<Array> outputs(1, Array(all[to], arrays[0].count()));
        const GpuArrays written(outputs);
        const std::vector<Tensor> targets = written.tensors();
        cuda::PassRequest request{.pass = cuda::Pass::write};
        request.outputs = targets.data();
        on_the_gpu(list, 1, request, stream);
        on_the_cpu(tensors_of(arrays), [&](TensorList& cpu, Found& found) {
          cpu.write(tensors_of(outputs).data(), {.inverse_scale = &inverse}, found.findings(threshold), nullptr);
        });
        CHECK(written.different_from(outputs) == 0);
      }
    }
  }
}

TEST_CASE("f32 is rounded to f16 and bf16 as on the CPU at and beside every midpoint") {
  const GpuStream stream;
  cuda::DeviceScaler scaler(0, torch_at(1));
  cuda::DeviceList list(scaler);
  std::vector<Array> arrays(1, Array(Dtype::f32, (std::uint64_t{5} << 19) / sample()));
  for (std::uint64_t i = 0; i < arrays[0].count() / 5; ++i) {
    const auto exact = static_cast<std::uint32_t>(i * sample() << 13);
    const std::uint32_t around[] = {exact, exact + 1, exact + 0xfff, exact + 0x1000, exact + 0x1001};
    for (std::uint64_t k = 0; k < 5; ++k) arrays[0].set(i * 5 + k, around[k]);
  }
  const GpuArrays values(arrays);
  list.assign(values.tensors());
  for (const Dtype to : {Dtype::f16, Dtype::bf16, Dtype::f64}) {
    INFO(name_of(to));
    std::vector<Array> outputs(1, Array(to, arrays[0].count()));
    const GpuArrays written(outputs);
    const std::vector<Tensor> targets = written.tensors();
    cuda::PassRequest request{.pass = cuda::Pass::write};
    request.outputs = targets.data();
    on_the_gpu(list, 1, request, stream);
    on_the_cpu(tensors_of(arrays), [&](TensorList& cpu, Found& found) {
      cpu.write(tensors_of(outputs).data(), {}, found.findings(threshold), nullptr);
    });
    CHECK(written.different_from(outputs) == 0);
  }
}

TEST_CASE("a list takes other addresses, and goes back, without being made again") {
  std::mt19937_64 random(4);
  const GpuStream stream;
  cuda::DeviceScaler scaler(0, torch_at(1));
  cuda::DeviceList list(scaler);
  std::vector<Array> first = random_arrays(random, 9000 / sample(), 50, 500000, 6, false);
  std::vector<Array> second = first;
  for (Array& array : second) fill(array, random, false);
  const GpuArrays first_values(first);
  const GpuArrays second_values(second);
  const auto observe = [](TensorList& cpu, Found& found) { cpu.observe(found.findings(threshold), nullptr); };
  const Found of_first = on_the_cpu(tensors_of(first), observe);
  const Found of_second = on_the_cpu(tensors_of(second), observe);
  list.assign(first_values.tensors());
  for (int i = 0; i < 5; ++i) {
    CHECK(on_the_gpu(list, first.size(), {}, stream) == of_first);
    REQUIRE(list.rebind(second_values.tensors()));
    CHECK(on_the_gpu(list, first.size(), {}, stream) == of_second);
    REQUIRE(list.rebind(first_values.tensors()));
  }
}
