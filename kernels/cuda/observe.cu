#include "kernels/cuda/pass_kernel.cuh"

namespace tare::kernels::cuda {

Kernel observe_kernel(Dtype only) {
  switch (only) {
    case Dtype::kF32:
      return kernel_of<For<Observe, Dtype::kF32>>();
    case Dtype::kF16:
      return kernel_of<For<Observe, Dtype::kF16>>();
    case Dtype::kBf16:
      return kernel_of<For<Observe, Dtype::kBf16>>();
    default:
      return kernel_of<ForAll<Observe>>();
  }
}

}  // namespace tare::kernels::cuda
