// The backends' tables: the CPU's, and that of libtare_cuda.so, which is found and opened; and what they say as errors.
#pragma once

#include "kernels/backend.h"

namespace tare {

const tare_backend_table& cpu_backend();

/// Opened on the first call and then kept. Throws `unsupported` where this tare was built without CUDA, or the module
/// cannot be had.
const tare_backend_table& cuda_backend();

/// Throws what a call reported.
[[noreturn]] void throw_backend(const tare_backend_error& error);

/// Calls `function` of a table with these arguments and an error behind them. Throws what it reports: `backend` with
/// the cudaError_t as detail, or `out_of_memory`.
template <class... Parameters, class... Arguments>
void call(int32_t (*function)(Parameters...), Arguments... arguments) {
  tare_backend_error error;
  if (function(arguments..., &error) != 0) throw_backend(error);
}

}  // namespace tare
