#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/small_kernels.hpp"

namespace tare::kernels::cuda {
inline namespace small_kernels_cu {

__global__ void fold_each_tensor(const __grid_constant__ EachArguments arguments) {
  const std::uint64_t warps = std::uint64_t{gridDim.x} * block_warps;
  for (std::uint64_t tensor = std::uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_lanes;
       tensor < arguments.count; tensor += warps) {
    fold_tensor(arguments.sums, arguments.counts, arguments.tensors[tensor], arguments.each[tensor]);
  }
}

__global__ void bind_addresses(const __grid_constant__ BindArguments arguments) {
  for (std::uint32_t i = blockIdx.x * threads + threadIdx.x; i < arguments.count; i += gridDim.x * threads) {
    arguments.to[i] = arguments.bindings[i];
  }
}

__global__ void obey_command(const __grid_constant__ CommandArguments arguments) {
  obey(arguments);
}

}  // namespace small_kernels_cu

Kernel fold_kernel() {
  return reinterpret_cast<Kernel>(&fold_each_tensor);
}
Kernel bind_kernel() {
  return reinterpret_cast<Kernel>(&bind_addresses);
}
Kernel command_kernel() {
  return reinterpret_cast<Kernel>(&obey_command);
}

}  // namespace tare::kernels::cuda
