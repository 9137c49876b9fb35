// What a list of tensors must be before a backend sees it.
#pragma once

#include <span>

#include "kernels/backend.h"
#include "kernels/plan.hpp"

namespace tare {

/// Throws `invalid_argument` (or `unsupported` for an fp8 that would be written) and names the tensor. A GPU's memory
/// is not for the CPU's backend; a GPU's says itself what it cannot reach.
void require_usable(const tare_backend_table& backend, std::span<const kernels::Tensor> tensors, kernels::Use use);
void require_fitting(const tare_backend_table& backend, std::span<const kernels::Tensor> inputs,
                     std::span<const kernels::Tensor> outputs);

/// Throws likewise; `what` ("tensor", "output") names them. Of any dtype.
void require_readable(const tare_backend_table& backend, std::span<const kernels::Tensor> tensors, const char* what);

/// A list that was to be rebound to other counts or dtypes: throws `mismatch`.
[[noreturn]] void refuse_other_shape();

}  // namespace tare
