#include "kernels/cuda/pass_kernel.cuh"

namespace tare::kernels::cuda {

Kernel write_kernel() {
  return kernel_of<ForWritable<Write>>();
}

}  // namespace tare::kernels::cuda
