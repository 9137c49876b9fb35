#include "kernels/cuda/list.hpp"

namespace tare::kernels::cuda {

DeviceScaler::DeviceScaler(int device, const rule::RunningState& running) : device_(device) {
  const OnDevice here(device);
  core_.reserve(1);
  copy_.reserve(1);
  *copy_.data() = ScalerCore{};
  take_over(*copy_.data(), running);
  check(cudaMemcpy(core_.data(), copy_.data(), sizeof(ScalerCore), cudaMemcpyHostToDevice), "make a scaler");
}

DeviceScaler::~DeviceScaler() = default;

void DeviceScaler::obey(CommandArguments asked, cudaStream_t stream) {
  const OnDevice here(device_.ordinal());
  asked.core = core();
  device_.launch(command_kernel(), 1, 1, &asked, stream);
}

ScalerCore DeviceScaler::read(cudaStream_t stream) {
  ScalerCore copy;
  {
    const OnDevice here(device_.ordinal());
    check(cudaMemcpyAsync(copy_.data(), core(), sizeof copy, cudaMemcpyDeviceToHost, stream), "read a scaler");
    check(cudaStreamSynchronize(stream), "wait for the stream");
    copy = *copy_.data();
  }
  if (copy.raised == rule::Raised::kNothing) return copy;
  CommandArguments told;
  told.command = Command::forget_raised;
  obey(told, stream);
  return copy;
}

}  // namespace tare::kernels::cuda
