// The kernels by name: a .cu file defines each group, Device launches them. Nothing here needs nvcc.
#pragma once

#include "kernels/dtype.hpp"
#include "kernels/fp8/matrix.hpp"
#include "kernels/simt.hpp"

namespace tare::kernels::cuda {

/// A kernel as cudaLaunchKernel takes it, with one parameter.
using Kernel = const void*;

inline constexpr int block_threads = threads;

/// A pass; takes PassArguments. For lists of that dtype alone, or (Dtype{0}) for any list.
Kernel observe_kernel(Dtype only);
Kernel unscale_kernel(Dtype only);
/// As unscale_kernel, for passes that find nothing.
Kernel rewrite_kernel(Dtype only);
Kernel write_kernel();
/// Each tensor's statistics, a warp a tensor; takes EachArguments.
Kernel fold_kernel();
/// Pieces in which a value is not finite, a warp a piece; then the tensors, a thread each. Both take TornArguments.
Kernel torn_kernel();
Kernel finish_torn_kernel();
/// New addresses; takes BindArguments.
Kernel bind_kernel();
/// A step, or a new state; one thread; takes CommandArguments.
Kernel command_kernel();

/// A step of all FP8 slots; takes fp8::Slots.
Kernel slots_kernel();
/// Lists to fp8; takes QuantiseArguments.
Kernel quantise_kernel();
/// Lists from fp8; takes DequantiseArguments.
Kernel dequantise_kernel();

/// A step of what ranks tell one another of slots and gradients; takes RankNumbersArguments.
Kernel rank_numbers_kernel();
/// Sums of ranks in fp8; takes RankSumsArguments.
Kernel rank_sums_kernel();

/// Scales of whole matrices, and matrices to fp8 and back; all take MatrixArguments.
Kernel matrix_scales_kernel();
/// Of matrices of that dtype alone: f32, f16 or bf16.
Kernel quantise_matrices_kernel(fp8::Scaling scaling, Dtype dtype);
Kernel dequantise_matrices_kernel();

/// Looks at tensors: their pieces, then the tensors; both take LookArguments.
Kernel look_kernel();
Kernel finish_look_kernel();

/// Calls `visit` with every kernel, some of them twice.
template <class Visit>
void for_each_kernel(const Visit& visit) {
  for (int dtype = 0; dtype <= 6; ++dtype) {
    visit(observe_kernel(static_cast<Dtype>(dtype)));
    visit(unscale_kernel(static_cast<Dtype>(dtype)));
    visit(rewrite_kernel(static_cast<Dtype>(dtype)));
  }
  for (const Kernel kernel :
       {write_kernel(), fold_kernel(), bind_kernel(), command_kernel(), slots_kernel(), quantise_kernel(),
        dequantise_kernel(), rank_numbers_kernel(), rank_sums_kernel(), look_kernel(), finish_look_kernel(),
        torn_kernel(), finish_torn_kernel(), matrix_scales_kernel(), dequantise_matrices_kernel()})
    visit(kernel);
  for (int scaling = 0; scaling <= 5; ++scaling) {
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16})
      visit(quantise_matrices_kernel(static_cast<fp8::Scaling>(scaling), dtype));
  }
}

}  // namespace tare::kernels::cuda
