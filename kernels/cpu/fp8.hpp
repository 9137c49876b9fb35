// Tensors that are cast with the scales of slots in host memory.
#pragma once

#include <vector>

#include "kernels/fp8/host_slots.hpp"
#include "kernels/launch.hpp"

namespace tare::kernels::cpu {

/// What a list is cast for as backend.h numbers it, with one slot a tensor. Allocates nothing.
void cast(const fp8::Slots& slots, std::int32_t what, std::span<const Tensor> tensors, const std::uint32_t* slots_of,
          const Tensor* outputs);

/// A list that is kept. Throws std::bad_alloc.
class Casts {
 public:
  explicit Casts(const fp8::HostSlots& slots) : slots_(slots) {}

  /// `slots`: one a tensor.
  void assign(std::span<const Tensor> tensors, const std::uint32_t* slots);
  /// False (and nothing done) for other counts, dtypes or slots.
  bool rebind(std::span<const Tensor> tensors, const std::uint32_t* slots);

  void run(std::int32_t what, const Tensor* outputs) const;

 private:
  const fp8::HostSlots& slots_;
  std::vector<Tensor> tensors_;
  std::vector<std::uint32_t> slots_of_;
};

}  // namespace tare::kernels::cpu
