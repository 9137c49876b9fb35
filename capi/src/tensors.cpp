#include <cstddef>
#include <limits>

#include "capi/src/guard.hpp"
#include "capi/src/handles.hpp"

namespace tare::capi {

static_assert(sizeof(tare_tensor) == 24 && sizeof(kernels::Tensor) == sizeof(tare_tensor));
static_assert(offsetof(kernels::Tensor, data) == offsetof(tare_tensor, data));
static_assert(offsetof(kernels::Tensor, count) == offsetof(tare_tensor, count));
static_assert(offsetof(kernels::Tensor, dtype) == offsetof(tare_tensor, dtype));
static_assert(offsetof(kernels::Tensor, reserved) == offsetof(tare_tensor, reserved));

std::span<const kernels::Tensor> tensors_of(const tare_tensor* tensors, uint64_t count) {
  if (count == 0) return {};
  require(tensors, "tensors");
  if (count > static_cast<uint64_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(tare_tensor)) {
    throw Error(Status::invalid_argument,
                "a list of " + std::to_string(count) + " tensors is beyond the address space");
  }
  return {reinterpret_cast<const kernels::Tensor*>(tensors), static_cast<std::size_t>(count)};
}

}  // namespace tare::capi
