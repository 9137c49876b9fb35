#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/matrix_amax.hpp"
#include "kernels/cuda/matrix_dequantise.hpp"

namespace tare::kernels::cuda {
namespace {

__global__ void __launch_bounds__(threads) find_matrix_scales(const __grid_constant__ MatrixArguments arguments) {
  __shared__ AmaxShared shared;
  amax_block(arguments, {blockIdx.x, gridDim.x}, shared);
}

__global__ void __launch_bounds__(threads) quantise_matrices(const __grid_constant__ MatrixArguments arguments) {
  __shared__ TileShared shared;
  quantise_tiles(arguments, {blockIdx.x, gridDim.x}, shared);
}

__global__ void __launch_bounds__(threads) dequantise_matrices(const __grid_constant__ MatrixArguments arguments) {
  __shared__ ValuesShared shared;
  dequantise_tiles(arguments, {blockIdx.x, gridDim.x}, shared);
}

}  // namespace

Kernel matrix_scales_kernel() {
  return reinterpret_cast<Kernel>(&find_matrix_scales);
}
Kernel quantise_matrices_kernel() {
  return reinterpret_cast<Kernel>(&quantise_matrices);
}
Kernel dequantise_matrices_kernel() {
  return reinterpret_cast<Kernel>(&dequantise_matrices);
}

}  // namespace tare::kernels::cuda
