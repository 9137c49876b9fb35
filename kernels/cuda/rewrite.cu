#include "kernels/cuda/pass_kernel.cuh"

namespace tare::kernels::cuda {

Kernel rewrite_kernel(Dtype only) {
  switch (only) {
    case Dtype::f32:
      return kernel_of<For<Rewrite, Dtype::f32>>();
    case Dtype::f16:
      return kernel_of<For<Rewrite, Dtype::f16>>();
    case Dtype::bf16:
      return kernel_of<For<Rewrite, Dtype::bf16>>();
    default:
      return kernel_of<ForWritable<Rewrite>>();
  }
}

}  // namespace tare::kernels::cuda
