// The library's scaler on cuda:0: every trace of every framework, states, lists, and what callers read on the device.
#include <cuda_runtime_api.h>

#include <cmath>

#include "tests/catch.hpp"
#include "tests/unit/scaler/library_scaler.hpp"

using namespace tare;

namespace {

float on_device(const void* pointer) {
  float value = -1;
  CHECK(cudaMemcpy(&value, pointer, sizeof value, cudaMemcpyDeviceToHost) == cudaSuccess);
  return value;
}

}  // namespace

TEST_CASE("every trace of every framework comes out the same through the scaler on the GPU") {
  test::LibraryScaler scaler("cuda:0");
  const vectors::Tally tally = vectors::run_all(TARE_TEST_SOURCE "/vectors", scaler);
  CHECK(tally.traces > 200);
  CHECK(tally.differences.empty());
}

TEST_CASE("values are unscaled on the GPU, and scale, found-inf and multiplier are read there") {
  const auto scaler = make_scaler(parse_config(R"({"policy":"torch","initial_scale":4,"device":"cuda:0"})"));
  const float values[] = {3, 0, 4, INFINITY};
  float* device = nullptr;
  REQUIRE(cudaMalloc(reinterpret_cast<void**>(&device), sizeof values) == cudaSuccess);
  REQUIRE(cudaMemcpy(device, values, sizeof values, cudaMemcpyHostToDevice) == cudaSuccess);
  const kernels::Tensor finite{device, 3, Dtype::kF32, 0};
  const kernels::Tensor last{device + 3, 1, Dtype::kF32, 0};
  const auto grads = scaler->make_grads({&finite, 1});
  const void* scale = scaler->pointer(Shown::scale);
  grads->unscale(nullptr);
  CHECK(on_device(device) == 0.75f);
  CHECK(on_device(device + 2) == 1.0f);
  CHECK(on_device(grads->pointer(Shown::found_inf)) == 0);
  CHECK(on_device(grads->pointer(Shown::multiplier)) == 0.25f);
  scaler->observe({&last, 1}, nullptr);
  CHECK(on_device(scaler->pointer(Shown::found_inf)) == 1);
  scaler->update(nullptr);
  CHECK(on_device(scale) == 2);
  const ScalerState saved = scaler->save(nullptr);
  scaler->set_scale(1024, nullptr);
  CHECK(on_device(scale) == 1024);
  scaler->load(saved, nullptr);
  CHECK(on_device(scale) == 2);
  CHECK(scaler->pointer(Shown::scale) == scale);
  const auto statistics = vectors::Json::parse(grads->statistics(nullptr));
  CHECK(statistics.at("total").at("zeros") == 1);
  CHECK(statistics.at("tensors").at(0).at("norm") == 5.0);
  CHECK_THROWS_AS(scaler->set_scale(1e300, nullptr), Error);
  cudaFree(device);
}
