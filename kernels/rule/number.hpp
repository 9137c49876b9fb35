// A Python number: the value and its kind. DeepSpeed and apex keep the scale as an int until it first changes, and
// `max(scale / 2, 1)` brings the int 1 back; a checkpoint shows the difference, so the rule keeps it.
//
// Integers are exact up to 64 bits. Beyond that Python would go on with a longer int; here the product becomes a double
// of the same value (a power of two stays exact).
#pragma once

#include <cstdint>

#include "kernels/host_device.hpp"

namespace tare::rule {

enum class NumberKind : int32_t { none, boolean, integer, real };

/// Also the common currency of the policy tables: parameters and state fields are read and written as Numbers.
struct Number {
  NumberKind kind = NumberKind::none;
  int64_t integer = 0;  // integer; 0 or 1 for boolean
  double real = 0;      // real
};

TARE_HD inline Number real_number(double value) {
  return {NumberKind::real, 0, value};
}
TARE_HD inline Number integer_number(int64_t value) {
  return {NumberKind::integer, value, 0};
}
TARE_HD inline Number boolean_number(bool value) {
  return {NumberKind::boolean, value ? 1 : 0, 0};
}

/// The value as float(x) gives it; none counts as 0.
TARE_HD inline double value_of(const Number& number) {
  return number.kind == NumberKind::real ? number.real : static_cast<double>(number.integer);
}

/// a * b: an int when both are.
TARE_HD inline Number multiply(const Number& a, const Number& b) {
  const double product = value_of(a) * value_of(b);
  const bool integers = a.kind != NumberKind::real && b.kind != NumberKind::real;
  constexpr double limit = 9223372036854774784.0;  // the largest double below 2^63
  if (integers && product <= limit && product >= -limit) return integer_number(a.integer * b.integer);
  return real_number(product);
}

/// a / b: always a float. REQUIRES: b is not zero (Python raises).
TARE_HD inline Number divide(const Number& a, const Number& b) {
  return real_number(value_of(a) / value_of(b));
}

/// max(a, b): the first unless the second is greater.
TARE_HD inline Number python_max(const Number& a, const Number& b) {
  return value_of(b) > value_of(a) ? b : a;
}

}  // namespace tare::rule
