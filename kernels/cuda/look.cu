#include "kernels/cuda/look.hpp"

#include "kernels/cuda/kernels.hpp"

namespace tare::kernels::cuda {
inline namespace look_cu {

__global__ void __launch_bounds__(threads, 2) look_at_pieces(const __grid_constant__ LookArguments arguments) {
  __shared__ LookShared shared;
  look_block(arguments, {blockIdx.x, gridDim.x}, shared);
}

__global__ void __launch_bounds__(threads) finish_looks(const __grid_constant__ LookArguments arguments) {
  const std::uint32_t tensor = blockIdx.x * block_warps + threadIdx.x / warp_lanes;
  if (tensor < arguments.tensor_count) finish_look(arguments, tensor);
}

}  // namespace look_cu

Kernel look_kernel() {
  return reinterpret_cast<Kernel>(&look_at_pieces);
}
Kernel finish_look_kernel() {
  return reinterpret_cast<Kernel>(&finish_looks);
}

}  // namespace tare::kernels::cuda
