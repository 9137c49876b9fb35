// What a call leaves behind that CUDA refused.
#include "tests/gpu/simulated/faults.hpp"

#include "tests/gpu/gpu.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;

namespace {

/// What the pass sees that follows one whose launch number `failing` failed.
double seen_after_failure(int failing) {
  const GpuStream stream;
  std::vector<Array> twos(3000, Array(Dtype::f16, 1));  // more addresses than a launch takes
  std::vector<Array> fours = twos;
  for (Array& array : twos) array.set(0, 0x4000);
  for (Array& array : fours) array.set(0, 0x4400);
  const GpuArrays at_twos(twos);
  const GpuArrays at_fours(fours);
  cuda::DeviceScaler scaler(0, torch_at(1));
  cuda::DeviceList list(scaler);
  list.assign(at_twos.tensors());
  list.run({}, stream);
  REQUIRE(list.rebind(at_fours.tensors()));
  fail_a_launch(failing, cudaErrorLaunchOutOfResources);
  CHECK_THROWS_AS(list.run({}, stream), cuda::Failure);
  REQUIRE(list.rebind(at_twos.tensors()));
  list.run({}, stream);
  std::vector<Statistics> each(3000);
  const ListCore core = list.read(each.data(), stream);
  CHECK(core.seen.count == 3000);
  CHECK(core.seen.sum_of_squares == 4.0 * 3000);
  return core.seen.max_abs;
}

}  // namespace

TEST_CASE("after a launch that failed a pass looks at the tensors that it is given") {
  for (int failing = 0; failing < 3; ++failing) CHECK(seen_after_failure(failing) == 2.0);
}

TEST_CASE("an error that stays with the device is told as an earlier kernel's") {
  const GpuStream stream;
  cuda::DeviceScaler scaler(0, torch_at(1));
  const std::vector<cudaError_t> staying {
    cudaErrorIllegalAddress,
#if CUDART_VERSION >= 12060
        cudaErrorContained,
#endif
  };
  for (const cudaError_t error : staying) {
    fail_a_launch(0, error);
    CHECK_THROWS_WITH(scaler.obey({}, stream), Catch::Contains("an earlier kernel of this process"));
  }
}

TEST_CASE("a driver that is too old is told with the one that is needed") {
  const GpuStream stream;
  cuda::DeviceScaler scaler(0, torch_at(1));
  fail_a_launch(0, cudaErrorInsufficientDriver);
  const std::string major = std::to_string(CUDART_VERSION / 1000);
  CHECK_THROWS_WITH(scaler.obey({}, stream),
                    Catch::Contains("the driver found is one for CUDA 12.2, needed is one for CUDA " + major));
}

TEST_CASE("a stream that is not the device's own is told of") {
  cuda::DeviceScaler scaler(0, torch_at(1));
  const auto nobodys = reinterpret_cast<cudaStream_t>(std::uintptr_t{0x10});
  CHECK_THROWS_WITH(scaler.obey({}, nobodys), Catch::Contains("primary context"));
}
