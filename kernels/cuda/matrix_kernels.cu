#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/matrix_amax.hpp"
#include "kernels/cuda/matrix_dequantise.hpp"
#include "kernels/cuda/matrix_tile.hpp"

namespace tare::kernels::cuda {
inline namespace matrix_kernels_cu {

__global__ void __launch_bounds__(threads) find_matrix_scales(const __grid_constant__ MatrixArguments arguments) {
  __shared__ AmaxShared shared;
  amax_block(arguments, {blockIdx.x, gridDim.x}, shared);
}

/// Blocks that share a multiprocessor: of 16 bits a lane holds half as many registers of values.
template <Dtype D>
inline constexpr int tiles_together = D == Dtype::f32 ? 2 : 3;

template <fp8::Scaling S, Dtype D>
__global__ void __launch_bounds__(threads, tiles_together<D>)
    quantise_matrices(const __grid_constant__ MatrixArguments arguments) {
  __shared__ TileShared shared;
  quantise_tiles<S, Element<D>>(arguments, {blockIdx.x, gridDim.x}, shared);
}

__global__ void __launch_bounds__(threads, 2) dequantise_matrices(const __grid_constant__ MatrixArguments arguments) {
  dequantise_tiles(arguments, {blockIdx.x, gridDim.x});
}

}  // namespace matrix_kernels_cu

Kernel matrix_scales_kernel() {
  return reinterpret_cast<Kernel>(&find_matrix_scales);
}
Kernel quantise_matrices_kernel(fp8::Scaling scaling, Dtype dtype) {
  return fp8::with_scaling(scaling, [dtype](auto one) {
    switch (dtype) {
      case Dtype::f32:
        return reinterpret_cast<Kernel>(&quantise_matrices<one.value, Dtype::f32>);
      case Dtype::f16:
        return reinterpret_cast<Kernel>(&quantise_matrices<one.value, Dtype::f16>);
      default:
        return reinterpret_cast<Kernel>(&quantise_matrices<one.value, Dtype::bf16>);
    }
  });
}
Kernel dequantise_matrices_kernel() {
  return reinterpret_cast<Kernel>(&dequantise_matrices);
}

}  // namespace tare::kernels::cuda
