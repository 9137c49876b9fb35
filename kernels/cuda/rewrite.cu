#include "kernels/cuda/pass_kernel.cuh"

namespace tare::kernels::cuda {

Kernel rewrite_kernel(Dtype only) {
  return kernel_for<Rewrite, ForWritable<Rewrite>>(only);
}

}  // namespace tare::kernels::cuda
