// Looks at tensors on the GPU against the CPU's, in every bit.
#include <cmath>
#include <cstring>

#include "kernels/cpu/summarise.hpp"
#include "kernels/cuda/looks.hpp"
#include "tests/gpu/gpu.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;

namespace {

constexpr Dtype all[] = {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::f8_e4m3fn, Dtype::f8_e5m2};

std::vector<Array> arrays_of_all_dtypes(std::mt19937_64& random, std::uint64_t most) {
  std::vector<Array> arrays;
  for (const Dtype dtype : all) {
    for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{513}, most}) {
      fill(arrays.emplace_back(dtype, count, random() % 17), random, true);
      fill(arrays.emplace_back(dtype, count, random() % 17), random, false);
    }
  }
  return arrays;
}

/// Of looks at so many tensors each, one after another.
void read(cuda::DeviceLooks& looks, Summary* found, std::size_t count, std::size_t each) {
  std::vector<tare_backend_seen> into(count);
  for (std::size_t i = 0; i < count; ++i) into[i].summaries = found + i * each;
  looks.read(into.data());
}

/// How many differ from the CPU's in a bit.
std::size_t different(const std::vector<Summary>& found, std::vector<Array>& arrays, double scale) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Summary expected = cpu::summarise(arrays[i].tensor(), scale);
    wrong += std::memcmp(&found[i], &expected, sizeof expected) == 0 ? 0 : 1;
  }
  return wrong;
}

}  // namespace

TEST_CASE("looks at tensors of every dtype tell what the CPU tells, to the bit") {
  std::mt19937_64 random(1);
  const GpuStream stream;
  cuda::DeviceLooks looks(0);
  std::vector<Array> arrays = arrays_of_all_dtypes(random, 3'000'000 / share() + 40'000);
  const GpuArrays values(arrays);
  for (const double scale : {1.0, 1024.0, 3.0}) {
    std::vector<Summary> found(arrays.size());
    looks.add(values.tensors(), {scale}, stream);
    read(looks, found.data(), 1, found.size());
    CHECK(different(found, arrays, scale) == 0);
  }
}

TEST_CASE("a scale that lies on the GPU is read in its turn, and divided out as one that the host knows") {
  std::mt19937_64 random(11);
  const GpuStream stream;
  cuda::DeviceLooks looks(0);
  std::vector<Array> arrays = arrays_of_all_dtypes(random, 20'000);
  const GpuArrays values(arrays);
  const GpuBytes scale(sizeof(float));
  const auto* place = reinterpret_cast<const float*>(scale.data());
  for (const float now : {65536.0F, 3.0F, 0x1p-130F}) {
    std::vector<Summary> found(arrays.size());
    must(cudaMemcpyAsync(scale.data(), &now, sizeof now, cudaMemcpyHostToDevice, stream));
    looks.add(values.tensors(), {.place = place}, stream);
    must(cudaMemsetAsync(scale.data(), 0, sizeof now, stream));  // what comes behind does not reach it
    read(looks, found.data(), 1, found.size());
    CHECK(different(found, arrays, static_cast<double>(now)) == 0);
  }
}

TEST_CASE("nothing is told of values whose scale turns out to be none, and the next look is as good") {
  std::mt19937_64 random(12);
  const GpuStream stream;
  cuda::DeviceLooks looks(0);
  std::vector<Array> arrays;
  for (const std::uint64_t count : {9000U, 1U, 0U}) fill(arrays.emplace_back(Dtype::f16, count), random, true);
  const GpuArrays values(arrays);
  const GpuBytes scale(sizeof(float));
  for (const float none : {0.0F, -0.0F, -8.0F, INFINITY, NAN}) {
    std::vector<Summary> found(arrays.size());
    must(cudaMemcpyAsync(scale.data(), &none, sizeof none, cudaMemcpyHostToDevice, stream));
    looks.add(values.tensors(), {.place = reinterpret_cast<const float*>(scale.data())}, stream);
    read(looks, found.data(), 1, found.size());
    const Summary nothing;
    for (const Summary& one : found) CHECK(std::memcmp(&one, &nothing, sizeof one) == 0);
    looks.add(values.tensors(), {2}, stream);
    read(looks, found.data(), 1, found.size());
    CHECK(different(found, arrays, 2) == 0);
  }
}

TEST_CASE("several looks of several streams are read together, in their order, and the next round is as good") {
  std::mt19937_64 random(2);
  const GpuStream streams[2];
  cuda::DeviceLooks looks(0);
  std::vector<Array> arrays;
  for (const std::uint64_t count : {700U, 40'000U, 1U, 0U, 3U, 33'000U}) {
    fill(arrays.emplace_back(all[arrays.size()], count), random, true);
  }
  const GpuArrays values(arrays);
  const std::vector<Tensor> tensors = values.tensors();
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < tensors.size(); i += 2)
      looks.add(std::span(tensors).subspan(i, 2), {2}, streams[i / 2 % 2]);
    std::vector<Summary> found(arrays.size());
    read(looks, found.data(), 3, 2);
    CHECK(looks.are_done());
    CHECK(different(found, arrays, 2) == 0);
  }
}

TEST_CASE("a look sees the values of its place in the stream, and nobody waits for it") {
  std::mt19937_64 random(3);
  const GpuStream stream;
  cuda::DeviceLooks looks(0);
  std::vector<Array> before;
  fill(before.emplace_back(Dtype::bf16, 5000), random, true);
  const GpuArrays values(before);
  const std::vector<Tensor> tensors = values.tensors();
  std::vector<Summary> found(2);
  looks.add(tensors, {1}, stream);
  must(cudaMemsetAsync(tensors[0].data, 0, 10'000, stream));
  looks.add(tensors, {1}, stream);
  read(looks, found.data(), 2, 1);
  const Summary expected = cpu::summarise(before[0].tensor(), 1);
  CHECK(std::memcmp(found.data(), &expected, sizeof expected) == 0);
  CHECK(found[1].zeros == 5000);
}

TEST_CASE("a look that would be captured is refused, and the next one is as good") {
  std::mt19937_64 random(4);
  const GpuStream stream;
  cuda::DeviceLooks looks(0);
  std::vector<Array> arrays;
  fill(arrays.emplace_back(Dtype::f32, 100), random, true);
  const GpuArrays values(arrays);
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CHECK_THROWS_AS(looks.add(values.tensors(), {1}, stream), cuda::Failure);
  cudaGraph_t graph = nullptr;
  must(cudaStreamEndCapture(stream, &graph));
  must(cudaGraphDestroy(graph));
  Summary found;
  looks.add(values.tensors(), {1}, stream);
  read(looks, &found, 1, 1);
  CHECK(found.count == 100);
}

TEST_CASE("what a list found and how its scaler stands is left as they were then, whatever comes behind") {
  std::mt19937_64 random(6);
  const GpuStream stream;
  cuda::DeviceScaler scaler(0, torch_at(1024));
  cuda::DeviceList list(scaler);
  std::vector<Array> arrays;
  for (const std::uint64_t count : {5000U, 3U, 0U}) fill(arrays.emplace_back(Dtype::bf16, count), random, false);
  const GpuArrays values(arrays);
  list.assign(values.tensors());
  cuda::DeviceLooks looks(0);
  std::vector<Statistics> before(3);
  std::vector<Statistics> after(3);
  ListCore lists[2];
  ScalerCore scalers[2];
  looks.add(list, stream);  // of no pass yet
  list.run({.pass = cuda::Pass::observe, .steps = true}, stream);
  looks.add(list, stream);
  must(cudaMemsetAsync(values.tensors()[0].data, 0xff, 100, stream));  // nan
  list.run({.pass = cuda::Pass::observe, .steps = true}, stream);
  const tare_backend_seen into[] = {{nullptr, before.data(), nullptr, &lists[0], &scalers[0], nullptr},
                                    {nullptr, after.data(), nullptr, &lists[1], &scalers[1], nullptr}};
  looks.read(into);
  CHECK(lists[0].seen.count == 0);
  CHECK(scalers[0].running.counters.steps == 0);
  CHECK(lists[1].seen.count == 5003);
  CHECK(lists[1].shown.found_inf == 0);
  CHECK(scalers[1].running.counters.steps == 1);
  CHECK(scalers[1].running.counters.skipped == 0);
  const Found expected =
      on_the_cpu(tensors_of(arrays), [](TensorList& cpu, Found& found) { cpu.observe(found.findings(0), nullptr); });
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(after[i].count == expected.each[i].count);
    CHECK(after[i].max_abs == expected.each[i].max_abs);
    CHECK(after[i].sum_of_squares == expected.each[i].sum_of_squares);
  }
}

TEST_CASE("a scaler of somebody else's is read where it lies, in its turn") {
  const GpuStream stream;
  const GpuBytes memory(32);
  const float scale = 512;
  const std::int64_t counts[] = {3, 7};
  upload(memory.data(), &scale, sizeof scale);
  upload(memory.data() + 8, counts, sizeof counts);
  cuda::DeviceLooks looks(0);
  ScalerPlaces places;
  places.scale = reinterpret_cast<const float*>(memory.data());
  places.growths = reinterpret_cast<const std::int64_t*>(memory.data() + 8);
  places.backoffs = reinterpret_cast<const std::int64_t*>(memory.data() + 16);
  places.known.steps = 100;
  places.known.skipped = 8;
  looks.add(places, stream);
  must(cudaMemsetAsync(memory.data(), 0, 32, stream));
  ScalerStanding standing;
  const tare_backend_seen into = {nullptr, nullptr, nullptr, nullptr, nullptr, &standing};
  looks.read(&into);
  CHECK(standing.scale == 512);
  CHECK(standing.steps == 100);
  CHECK(standing.skipped == 8);
  CHECK(standing.growths == 3);
  CHECK(standing.backoffs == 7);
}

TEST_CASE("looks that nobody reads end with what holds them") {
  std::mt19937_64 random(5);
  const GpuStream stream;
  std::vector<Array> arrays;
  fill(arrays.emplace_back(Dtype::f16, 50'000), random, true);
  const GpuArrays values(arrays);
  {
    cuda::DeviceLooks looks(0);
    looks.add(values.tensors(), {1}, stream);
  }
  stream.wait();
  SUCCEED();
}
