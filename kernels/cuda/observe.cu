#include "kernels/cuda/pass_kernel.cuh"

namespace tare::kernels::cuda {

Kernel observe_kernel(Dtype only) {
  return kernel_for<Observe, ForAll<Observe>>(only);
}

}  // namespace tare::kernels::cuda
