#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/rank_numbers.hpp"
#include "kernels/cuda/rank_sums.hpp"

namespace tare::kernels::cuda {
inline namespace rank_kernels_cu {

__global__ void __launch_bounds__(threads) tell_ranks_numbers(const __grid_constant__ RankNumbersArguments arguments) {
  if (arguments.step == RankStep::tell_list) {
    if (blockIdx.x == 0 && threadIdx.x < warp_lanes) tell_list(arguments);
    return;
  }
  for (std::uint32_t i = blockIdx.x * threads + threadIdx.x; i < count_of(arguments); i += gridDim.x * threads) {
    do_rank_step(arguments, i);
  }
}

__global__ void __launch_bounds__(threads) add_ranks(const __grid_constant__ RankSumsArguments arguments) {
  __shared__ CastShared shared;
  add_ranks_block(arguments, {blockIdx.x, gridDim.x}, shared);
}

}  // namespace rank_kernels_cu

Kernel rank_numbers_kernel() {
  return reinterpret_cast<Kernel>(&tell_ranks_numbers);
}
Kernel rank_sums_kernel() {
  return reinterpret_cast<Kernel>(&add_ranks);
}

}  // namespace tare::kernels::cuda
