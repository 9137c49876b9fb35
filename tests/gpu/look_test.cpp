// Looks at tensors on the GPU against the CPU's, in every bit.
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
    looks.look(values.tensors(), scale, stream);
    looks.read(found.data());
    CHECK(different(found, arrays, scale) == 0);
  }
}

TEST_CASE("several looks of several streams are read together, in their order, and the next round is as good") {
  std::mt19937_64 random(2);
  const GpuStream streams[2];
  cuda::DeviceLooks looks(0);
  std::vector<Array> arrays;
  for (const std::uint64_t count : {700, 40'000, 1, 0, 3, 33'000}) {
    fill(arrays.emplace_back(all[arrays.size()], count), random, true);
  }
  const GpuArrays values(arrays);
  const std::vector<Tensor> tensors = values.tensors();
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < tensors.size(); i += 2)
      looks.look(std::span(tensors).subspan(i, 2), 2, streams[i / 2 % 2]);
    std::vector<Summary> found(arrays.size());
    looks.read(found.data());
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
  looks.look(tensors, 1, stream);
  must(cudaMemsetAsync(tensors[0].data, 0, 10'000, stream));
  looks.look(tensors, 1, stream);
  looks.read(found.data());
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
  CHECK_THROWS_AS(looks.look(values.tensors(), 1, stream), cuda::Failure);
  cudaGraph_t graph = nullptr;
  must(cudaStreamEndCapture(stream, &graph));
  must(cudaGraphDestroy(graph));
  Summary found;
  looks.look(values.tensors(), 1, stream);
  looks.read(&found);
  CHECK(found.count == 100);
}

TEST_CASE("looks that nobody reads end with what holds them") {
  std::mt19937_64 random(5);
  const GpuStream stream;
  std::vector<Array> arrays;
  fill(arrays.emplace_back(Dtype::f16, 50'000), random, true);
  const GpuArrays values(arrays);
  {
    cuda::DeviceLooks looks(0);
    looks.look(values.tensors(), 1, stream);
  }
  stream.wait();
  SUCCEED();
}
