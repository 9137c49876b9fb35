// Finds and opens libtare_cuda.so, and turns what it says into errors.
#pragma once

#include <string>

#include "kernels/cuda/table.h"

namespace tare {

/// Opened on the first call and then kept. Throws `unsupported` where this tare was built without CUDA, or the module
/// cannot be had.
const tare_cuda_table& cuda_library();

/// Throws what a call reported.
[[noreturn]] void throw_cuda(const tare_cuda_error& error);

/// Calls `function` of the table with these arguments and an error behind them. Throws what it reports: `backend` with
/// the cudaError_t as detail, or `out_of_memory`.
template <class... Parameters, class... Arguments>
void call_cuda(int32_t (*function)(Parameters...), Arguments... arguments) {
  tare_cuda_error error = {};
  if (function(arguments..., &error) != 0) throw_cuda(error);
}

}  // namespace tare
