#include "lib/scaler/cpu_scaler.hpp"
#include "lib/scaler/cuda_scaler.hpp"

namespace tare {

std::unique_ptr<LossScaler> make_scaler(const ScalerConfig& config) {
  if (config.cuda_device >= 0) return std::make_unique<CudaScaler>(config);
  return std::make_unique<CpuScaler>(config);
}

}  // namespace tare
