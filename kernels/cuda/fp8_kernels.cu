#include "kernels/cuda/dequantise.hpp"
#include "kernels/cuda/kernels.hpp"

namespace tare::kernels::cuda {
inline namespace fp8_kernels_cu {

__global__ void __launch_bounds__(threads) step_all_slots(const __grid_constant__ fp8::Slots slots) {
  const std::uint32_t warp = blockIdx.x * block_warps + threadIdx.x / warp_lanes;
  const std::uint32_t step = gridDim.x * fp8::slots_of_block;
  for (std::uint32_t first = warp * (warp_lanes / fp8::slot_lanes); first < slots.count; first += step) {
    fp8::step_slots(slots, first);
  }
}

__global__ void __launch_bounds__(threads, 3) quantise(const __grid_constant__ QuantiseArguments arguments) {
  __shared__ CastShared shared;
  quantise_block(arguments, {blockIdx.x, gridDim.x}, shared);
}

__global__ void __launch_bounds__(threads) dequantise(const __grid_constant__ DequantiseArguments arguments) {
  __shared__ CastShared shared;
  dequantise_block(arguments, {blockIdx.x, gridDim.x}, shared);
}

}  // namespace fp8_kernels_cu

Kernel slots_kernel() {
  return reinterpret_cast<Kernel>(&step_all_slots);
}
Kernel quantise_kernel() {
  return reinterpret_cast<Kernel>(&quantise);
}
Kernel dequantise_kernel() {
  return reinterpret_cast<Kernel>(&dequantise);
}

}  // namespace tare::kernels::cuda
