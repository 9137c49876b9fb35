#include "kernels/cuda/torn.hpp"

#include "kernels/cuda/kernels.hpp"

namespace tare::kernels::cuda {
inline namespace torn_cu {

__global__ void look_at_torn_pieces(const __grid_constant__ TornArguments arguments) {
  const std::uint32_t warps = gridDim.x * block_warps;
  for (std::uint32_t place = blockIdx.x * block_warps + threadIdx.x / warp_lanes; place < arguments.piece_count;
       place += warps) {
    look_at_torn(arguments, place);
  }
}

__global__ void finish_torn_tensors(const __grid_constant__ TornArguments arguments) {
  for (std::uint32_t tensor = blockIdx.x * threads + threadIdx.x; tensor < arguments.tensor_count;
       tensor += gridDim.x * threads) {
    finish_torn(arguments, tensor);
  }
}

}  // namespace torn_cu

Kernel torn_kernel() {
  return reinterpret_cast<Kernel>(&look_at_torn_pieces);
}
Kernel finish_torn_kernel() {
  return reinterpret_cast<Kernel>(&finish_torn_tensors);
}

}  // namespace tare::kernels::cuda
