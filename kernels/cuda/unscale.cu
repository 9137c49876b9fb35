#include "kernels/cuda/pass_kernel.cuh"

namespace tare::kernels::cuda {

Kernel unscale_kernel(Dtype only) {
  switch (only) {
    case Dtype::f32:
      return kernel_of<For<Unscale, Dtype::f32>>();
    case Dtype::f16:
      return kernel_of<For<Unscale, Dtype::f16>>();
    case Dtype::bf16:
      return kernel_of<For<Unscale, Dtype::bf16>>();
    default:
      return kernel_of<ForWritable<Unscale>>();
  }
}

}  // namespace tare::kernels::cuda
