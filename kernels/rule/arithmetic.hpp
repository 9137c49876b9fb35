// The few operations whose corners differ between C++ and the frameworks: integers that wrap, a modulo that floors,
// maxima that see or ignore nan, denormals that XLA and TensorFlow flush.
#pragma once

#include <cfloat>
#include <cstdint>
#include <type_traits>

#include "kernels/dtype.hpp"
#include "kernels/host_device.hpp"

namespace tare::rule {

/// a + b, wrapping around as the framework's tensors do (a stored counter may be anything).
template <class Int>
TARE_HD constexpr Int wrapping_add(Int a, Int b) {
  using Unsigned = std::make_unsigned_t<Int>;
  return static_cast<Int>(static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
}

template <class Int>
TARE_HD constexpr Int wrapping_subtract(Int a, Int b) {
  using Unsigned = std::make_unsigned_t<Int>;
  return static_cast<Int>(static_cast<Unsigned>(static_cast<Unsigned>(a) - static_cast<Unsigned>(b)));
}

/// a modulo b with the sign of b, as in Python. REQUIRES: b != 0.
template <class Int>
TARE_HD constexpr Int floor_modulo(Int a, Int b) {
  if (b == -1) return 0;  // the one quotient that may not fit
  const Int rest = static_cast<Int>(a % b);
  return rest != 0 && (rest < 0) != (b < 0) ? static_cast<Int>(rest + b) : rest;
}

/// The larger, or nan if either is (torch, XLA, MindSpore).
template <class Float>
TARE_HD inline Float maximum(Float a, Float b) {
  return !is_nan(a) && (b > a || is_nan(b)) ? b : a;
}

template <class Float>
TARE_HD inline Float minimum(Float a, Float b) {
  return !is_nan(a) && (b < a || is_nan(b)) ? b : a;
}

/// Python's max(a, b): the first unless the second is greater, so a nan in front stays and one behind is ignored.
TARE_HD inline double python_max(double a, double b) {
  return b > a ? b : a;
}
TARE_HD inline double python_min(double a, double b) {
  return b < a ? b : a;
}

/// A result as XLA and TensorFlow leave it on the CPU: denormals become zero.
TARE_HD inline float flushed(float value) {
  return value < FLT_MIN && value > -FLT_MIN ? float_from(bits_of(value) & 0x80000000u) : value;
}

}  // namespace tare::rule
