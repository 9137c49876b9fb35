// Tensors that are cast with the scales of slots in host memory.
#pragma once

#include <vector>

#include "kernels/cpu/workers.hpp"
#include "kernels/fp8/host_slots.hpp"
#include "kernels/launch.hpp"

namespace tare::kernels::cpu {

/// Slots, and the threads that cast with them; how many these are shows in no bit.
class CastingSlots {
 public:
  /// `threads`: that work on a list, the caller's among them. Throws std::system_error if they cannot be had.
  CastingSlots(unsigned threads, const fp8::Slots& like);

  fp8::HostSlots& slots() { return slots_; }
  const fp8::HostSlots& slots() const { return slots_; }
  /// What a list is cast for as backend.h numbers it, with one slot a tensor. Allocates nothing. Throws a Refusal in a
  /// forked child: the threads stayed with the parent.
  void cast(std::int32_t what, std::span<const Tensor> tensors, const std::uint32_t* slots_of, const Tensor* outputs);

 private:
  fp8::HostSlots slots_;
  Workers workers_;
  const pid_t owner_;
};

/// A list that is kept. Throws std::bad_alloc.
class Casts {
 public:
  explicit Casts(CastingSlots& slots) : slots_(slots) {}

  /// `slots`: one a tensor.
  void assign(std::span<const Tensor> tensors, const std::uint32_t* slots);
  /// False (and nothing done) for other counts, dtypes or slots.
  bool rebind(std::span<const Tensor> tensors, const std::uint32_t* slots);

  void run(std::int32_t what, const Tensor* outputs) const;

 private:
  CastingSlots& slots_;
  std::vector<Tensor> tensors_;
  std::vector<std::uint32_t> slots_of_;
};

}  // namespace tare::kernels::cpu
