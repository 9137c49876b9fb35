#include "kernels/cuda/pass_kernel.cuh"

namespace tare::kernels::cuda {

Kernel unscale_kernel(Dtype only) {
  switch (only) {
    case Dtype::kF32:
      return kernel_of<For<Unscale, Dtype::kF32>>();
    case Dtype::kF16:
      return kernel_of<For<Unscale, Dtype::kF16>>();
    case Dtype::kBf16:
      return kernel_of<For<Unscale, Dtype::kBf16>>();
    default:
      return kernel_of<ForWritable<Unscale>>();
  }
}

}  // namespace tare::kernels::cuda
