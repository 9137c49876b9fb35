#include "kernels/cuda/reach.hpp"

#include "kernels/cuda/device.hpp"

namespace tare::kernels::cuda {
namespace {

bool reaches_any_host_memory(int device) {
  int does = 0;
  check(cudaDeviceGetAttribute(&does, cudaDevAttrPageableMemoryAccess, device), "ask what memory the device reaches");
  return does != 0;
}

}  // namespace

std::string unreachable_place(const void* data, int device) {
  cudaPointerAttributes found{};
  check(cudaPointerGetAttributes(&found, data), "ask where memory lies");
  if (found.type == cudaMemoryTypeDevice && found.device != device) return "of cuda:" + std::to_string(found.device);
  if (found.type == cudaMemoryTypeUnregistered && !reaches_any_host_memory(device)) return "of the host";
  return {};
}

void refuse_place(const std::string& name, const std::string& place, int device) {
  throw Refusal(invalid_argument, 0,
                name + " is memory " + place + ", and this computes on cuda:" + std::to_string(device),
                "Give memory of that device, or make the scaler where the memory is.");
}

}  // namespace tare::kernels::cuda
