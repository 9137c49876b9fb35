// The shell around run_block.
#pragma once

#include "kernels/cuda/arguments.hpp"
#include "kernels/cuda/kernels.hpp"

namespace tare::kernels::cuda {

/// Blocks that share a multiprocessor. For one dtype three: enough bytes in flight with 80 registers a thread. Code for
/// several dtypes keeps more alive, and so do eight loads that are written, too.
template <class Items>
inline constexpr int blocks_together = 2;
template <class Program, Dtype Only>
inline constexpr int blocks_together<For<Program, Only>> = 3;
template <>
inline constexpr int blocks_together<For<Unscale, Dtype::f32>> = 2;

template <class Items>
__global__ void __launch_bounds__(threads, blocks_together<Items>)
    pass_kernel(const __grid_constant__ PassArguments pass) {
  __shared__ FoldShared shared;
  run_block<Items>(pass, {blockIdx.x, gridDim.x}, shared);
}

template <class Items>
Kernel kernel_of() {
  return reinterpret_cast<Kernel>(&pass_kernel<Items>);
}

/// Of those that a program has for one dtype alone; Several for all others.
template <class Program, class Several>
Kernel kernel_for(Dtype only) {
  switch (only) {
    case Dtype::f32:
      return kernel_of<For<Program, Dtype::f32>>();
    case Dtype::f16:
      return kernel_of<For<Program, Dtype::f16>>();
    case Dtype::bf16:
      return kernel_of<For<Program, Dtype::bf16>>();
    default:
      return kernel_of<Several>();
  }
}

}  // namespace tare::kernels::cuda
