#include "kernels/cuda/pass_kernel.cuh"

namespace tare::kernels::cuda {

Kernel unscale_kernel(Dtype only) {
  return kernel_for<Unscale, ForWritable<Unscale>>(only);
}

}  // namespace tare::kernels::cuda
