// The arrays of slots, one after another.
#pragma once

#include <cstring>

#include "kernels/fp8/slots.hpp"

namespace tare::kernels::fp8 {

/// Shows each array of two sets of slots of one shape, and how many bytes it has, to `body`.
template <class Body>
void each_array(const Slots& a, const Slots& b, const Body& body) {
  const std::size_t count = a.count;
  const auto show = [&](auto* one, auto* other, std::size_t values) { body(one, other, values * sizeof *one); };
  show(a.amax, b.amax, count);
  show(a.ring, b.ring, count * a.shape.ring_stride());
  show(a.groups, b.groups, count * a.shape.group_stride());
  show(a.oldest, b.oldest, count);
  show(a.steps, b.steps, count);
  show(const_cast<float*>(a.fp8_max), const_cast<float*>(b.fp8_max), count);
  show(a.scale, b.scale, count);
  show(a.inverse, b.inverse, count);
  if (a.mu == nullptr) return;
  show(a.mu, b.mu, count);
  show(a.seen, b.seen, count);
  show(a.at_largest, b.at_largest, count);
}

/// In host memory.
inline void copy_arrays(const Slots& to, const Slots& from) {
  each_array(to, from, [](void* into, const void* given, std::size_t bytes) {
    if (bytes != 0) std::memcpy(into, given, bytes);
  });
}

}  // namespace tare::kernels::fp8
