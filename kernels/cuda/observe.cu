#include "kernels/cuda/pass_kernel.cuh"

namespace tare::kernels::cuda {

Kernel observe_kernel(Dtype only) {
  switch (only) {
    case Dtype::f32:
      return kernel_of<For<Observe, Dtype::f32>>();
    case Dtype::f16:
      return kernel_of<For<Observe, Dtype::f16>>();
    case Dtype::bf16:
      return kernel_of<For<Observe, Dtype::bf16>>();
    default:
      return kernel_of<ForAll<Observe>>();
  }
}

}  // namespace tare::kernels::cuda
