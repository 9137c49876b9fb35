#include "tests/gpu/ptx/values.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tare::kernels::ptx {
namespace {

using Bits = std::uint64_t;

float f32(Bits bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}
double f64(Bits bits) {
  return std::bit_cast<double>(bits);
}
Bits bits_of(float value) {
  return value != value ? 0x7fffffffu : std::bit_cast<std::uint32_t>(value);
}
Bits bits_of(double value) {
  return value != value ? 0x7fffffffffffffffull : std::bit_cast<Bits>(value);
}

// ---- formats of 8 and 16 bits

double f16_value(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const int fraction = static_cast<int>(bits & 1023);
  const double magnitude = exponent == 0    ? std::ldexp(fraction, -24)
                           : exponent == 31 ? (fraction != 0 ? std::nan("") : HUGE_VAL)
                                            : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/// A format with `mantissa` bits and exponents from `least`: a magnitude above 0 rounded to nearest even.
double rounded(double magnitude, int mantissa, int least) {
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int unit = std::max(exponent - 1, least) - mantissa;
  return std::ldexp(std::nearbyint(std::ldexp(magnitude, -unit)), unit);
}

/// The bits of a magnitude that the format has, 0 among them.
std::uint32_t pattern(double magnitude, int mantissa, int bias) {
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  --exponent;
  if (magnitude < std::ldexp(1, 1 - bias))
    return static_cast<std::uint32_t>(std::ldexp(magnitude, bias - 1 + mantissa));
  const auto fraction = static_cast<std::uint32_t>(std::ldexp(magnitude, mantissa - exponent)) - (1u << mantissa);
  return static_cast<std::uint32_t>(exponent + bias) << mantissa | fraction;
}

std::uint32_t f16_bits(float value) {
  if (value != value) return 0x7fff;
  const std::uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | 0x7c00;
  if (magnitude == 0) return sign;
  const double near = rounded(magnitude, 10, -14);
  return sign | (near >= 65536 ? 0x7c00 : pattern(near, 10, 15));
}

std::uint32_t bf16_bits(float value) {
  if (value != value) return 0x7fff;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/// Saturated.
std::uint32_t fp8_bits(float value, int mantissa) {
  if (value != value) return 0x7f;
  const int bias = mantissa == 3 ? 7 : 15;
  const double largest = mantissa == 3 ? 448 : 57344;
  const std::uint32_t sign = std::signbit(value) ? 0x80 : 0;
  const double magnitude = std::min<double>(std::fabs(value), 1e9);
  if (magnitude == 0) return sign;
  const double near = std::min(rounded(magnitude, mantissa, 1 - bias), largest);
  return sign | pattern(near, mantissa, bias);
}

// ---- groups of instructions

template <class T>
bool holds(Compare compare, T a, T b) {
  const bool unordered = a != a || b != b;
  switch (compare) {
    case Compare::eq:
      return a == b;
    case Compare::ne:
      return !unordered && a != b;
    case Compare::lt:
      return a < b;
    case Compare::le:
      return a <= b;
    case Compare::gt:
      return a > b;
    case Compare::ge:
      return a >= b;
    case Compare::equ:
      return unordered || a == b;
    case Compare::neu:
      return unordered || a != b;
    case Compare::ltu:
      return unordered || a < b;
    case Compare::leu:
      return unordered || a <= b;
    case Compare::gtu:
      return unordered || a > b;
    case Compare::geu:
      return unordered || a >= b;
    case Compare::num:
      return !unordered;
    case Compare::nan:
      return unordered;
  }
  return false;
}

Bits compared(const Instruction& in, Bits a, Bits b) {
  const int bits = in.type.bits;
  if (in.type.is_float()) return bits == 32 ? holds(in.compare, f32(a), f32(b)) : holds(in.compare, f64(a), f64(b));
  if (in.type.is_signed()) return holds(in.compare, signed_of(a, bits), signed_of(b, bits));
  return holds(in.compare, a & mask_of(bits), b & mask_of(bits));
}

/// 1 / x as the hardware starts a division with it: the low half is not there, denormals are 0.
double approximate_reciprocal(double value) {
  const auto flushed = [](double x) { return std::fabs(x) < 0x1p-1022 ? std::copysign(0.0, x) : x; };
  return flushed(f64(std::bit_cast<Bits>(1.0 / flushed(value)) & ~Bits{0xffffffff}));
}

template <class T>
Bits float_result(Op op, T a, T b, T c) {
  switch (op) {
    case Op::add:
      return bits_of(a + b);
    case Op::sub:
      return bits_of(a - b);
    case Op::mul:
      return bits_of(a * b);
    case Op::div:
      return bits_of(a / b);
    case Op::fma:
      return bits_of(std::fma(a, b, c));
    case Op::sqrt:
      return bits_of(std::sqrt(a));
    case Op::rcp:
      return bits_of(T{1} / a);
    case Op::rcp_approx:
      return bits_of(approximate_reciprocal(a));
    default:
      refuse("no instruction of floats");
  }
}

Bits float_of(const Instruction& in, const Bits* v) {
  const Bits sign = Bits{1} << (in.type.bits - 1);
  if (in.op == Op::neg) return v[0] ^ sign;
  if (in.op == Op::abs) return v[0] & ~sign;
  const std::size_t count = in.operands.size();
  const Bits b = count > 1 ? v[1] : 0;
  const Bits c = count > 2 ? v[2] : 0;
  if (in.type.bits == 32) return float_result(in.op, f32(v[0]), f32(b), f32(c));
  return float_result(in.op, f64(v[0]), f64(b), f64(c));
}

Bits divided(const Instruction& in, Bits a, Bits b) {
  const int bits = in.type.bits;
  const bool rest = in.op == Op::rem;
  a &= mask_of(bits);
  b &= mask_of(bits);
  if (b == 0) refuse("division by zero");
  if (!in.type.is_signed()) return rest ? a % b : a / b;
  const std::int64_t x = signed_of(a, bits);
  const std::int64_t y = signed_of(b, bits);
  if (y == -1) return rest ? 0 : 0 - a;
  return static_cast<Bits>(rest ? x % y : x / y);
}

Bits shifted(const Instruction& in, Bits value, Bits by) {
  const auto bits = static_cast<Bits>(in.type.bits);
  const Bits n = by & 0xffffffff;
  if (in.op == Op::shl) return n >= bits ? 0 : value << n;
  if (in.type.is_signed()) return static_cast<Bits>(signed_of(value, in.type.bits) >> std::min(n, bits - 1));
  return n >= bits ? 0 : (value & mask_of(in.type.bits)) >> n;
}

Bits wide_product(const Instruction& in, Bits a, Bits b) {
  const int bits = in.type.bits;
  if (in.type.is_signed()) return static_cast<Bits>(signed_of(a, bits) * signed_of(b, bits));
  return (a & mask_of(bits)) * (b & mask_of(bits));
}

/// A nan gives way to a number; -0 is below +0.
template <class Float>
bool is_extreme(const Instruction& in, Float a, Float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(b);
  if (a == b) return std::signbit(a) == (in.op == Op::min);
  return (a < b) == (in.op == Op::min);
}

Bits extreme(const Instruction& in, Bits a, Bits b) {
  const int bits = in.type.bits;
  if (in.type.is_float()) {
    if (bits != 32 && bits != 64) refuse("an extreme of 16 bits");
    return (bits == 32 ? is_extreme(in, f32(a), f32(b)) : is_extreme(in, f64(a), f64(b))) ? a : b;
  }
  const bool a_is_less =
      in.type.is_signed() ? signed_of(a, bits) < signed_of(b, bits) : (a & mask_of(bits)) < (b & mask_of(bits));
  return a_is_less == (in.op == Op::min) ? a : b;
}

Bits permuted(Bits a, Bits b, Bits selectors) {
  const Bits source = (a & 0xffffffff) | b << 32;
  Bits result = 0;
  for (int i = 0; i < 4; ++i) {
    const Bits selector = selectors >> (4 * i) & 15;
    Bits byte = source >> (8 * (selector & 7)) & 255;
    if ((selector & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}

Bits inserted(const Instruction& in, const Bits* v) {
  const Bits position = v[2] & 255;
  const Bits length = v[3] & 255;
  Bits result = v[1];
  for (Bits i = 0; i < length && position + i < static_cast<Bits>(in.type.bits); ++i) {
    result = (result & ~(Bits{1} << (position + i))) | ((v[0] >> i & 1) << (position + i));
  }
  return result;
}

/// Half by half.
template <class Operation>
Bits of_halves(Bits a, Bits b, const Operation& operation) {
  const auto half = [&](int shift) {
    const auto x = static_cast<std::uint32_t>(a >> shift & 0xffff);
    const auto y = static_cast<std::uint32_t>(b >> shift & 0xffff);
    return Bits{operation(x, y)} << shift;
  };
  return half(0) | half(16);
}

Bits of_pairs(const Instruction& in, Bits a, Bits b) {
  const auto float_of_half = [](std::uint32_t bits) { return static_cast<float>(f16_value(bits)); };
  switch (in.op) {
    case Op::max_pair:
      return of_halves(a, b, [](std::uint32_t x, std::uint32_t y) { return std::max(x, y); });
    case Op::add_pair:
      return of_halves(a, b,
                       [&](std::uint32_t x, std::uint32_t y) { return f16_bits(float_of_half(x) + float_of_half(y)); });
    case Op::set_pair:
      return of_halves(a, b, [&](std::uint32_t x, std::uint32_t y) {
        return holds(in.compare, float_of_half(x), float_of_half(y)) ? 0x3c00u : 0u;
      });
    default:
      refuse("no instruction of pairs");
  }
}

/// The first operand becomes the upper half.
Bits pair_from_floats(const Instruction& in, Bits upper, Bits lower) {
  const auto half = [&](Bits value) { return in.mantissa == 10 ? f16_bits(f32(value)) : bf16_bits(f32(value)); };
  return Bits{half(upper)} << 16 | half(lower);
}

Bits float_from_float(const Instruction& in, Bits value) {
  const int to = in.type.bits;
  const int from = in.from.bits;
  if (to == 32 && from == 32 && in.rounding == Rounding::down) return bits_of(std::floor(f32(value)));
  if (to == 64 && from == 32) return bits_of(static_cast<double>(f32(value)));
  if (to == 32 && from == 64 && in.rounding == Rounding::nearest) return bits_of(static_cast<float>(f64(value)));
  if (to == 32 && from == 16) return bits_of(static_cast<float>(f16_value(static_cast<std::uint32_t>(value))));
  if (to == 16 && from == 32 && in.rounding == Rounding::nearest) return f16_bits(f32(value));
  refuse("a conversion of floats");
}

/// NaN becomes 0, what lies beyond the integer its nearest.
template <class Integer, class Float>
Bits clamped(Float number) {
  constexpr Float half = static_cast<Float>(Integer{1} << (std::numeric_limits<Integer>::digits - 1));
  if (number != number) return 0;
  if (number >= 2 * half) return static_cast<Bits>(std::numeric_limits<Integer>::max());
  if (number <= static_cast<Float>(std::numeric_limits<Integer>::min())) {
    return static_cast<Bits>(std::numeric_limits<Integer>::min());
  }
  return static_cast<Bits>(static_cast<Integer>(number));
}

Bits converted(const Instruction& in, Bits value) {
  const Type to = in.type;
  const Type from = in.from;
  value &= mask_of(from.bits);
  const Bits extended = from.is_signed() ? static_cast<Bits>(signed_of(value, from.bits)) : value;
  if (!to.is_float() && !from.is_float()) return extended & mask_of(to.bits);
  if (to.is_float() && from.is_float()) return float_from_float(in, value);
  if (to.is_float()) {
    if (in.rounding != Rounding::nearest || to.bits == 16) refuse("a conversion of an integer");
    const auto number = static_cast<std::int64_t>(extended);
    if (from.is_signed())
      return to.bits == 32 ? bits_of(static_cast<float>(number)) : bits_of(static_cast<double>(number));
    return to.bits == 32 ? bits_of(static_cast<float>(value)) : bits_of(static_cast<double>(value));
  }
  if (in.rounding != Rounding::to_zero) refuse("a conversion to an integer");
  if (from.bits == 32 && to.bits == 32 && to.is_signed()) return clamped<std::int32_t>(f32(value)) & 0xffffffffu;
  if (from.bits == 64 && to.bits == 64 && !to.is_signed()) return clamped<std::uint64_t>(f64(value));
  refuse("a conversion to an integer");
}

}  // namespace

Bits computed(const Instruction& in, const Bits* v) {
  switch (in.op) {
    case Op::mov:
    case Op::cvta:
      return v[0];
    case Op::selp:
      return v[2] != 0 ? v[0] : v[1];
    case Op::setp:
      return compared(in, v[0], v[1]);
    case Op::bit_and:
      return v[0] & v[1];
    case Op::bit_or:
      return v[0] | v[1];
    case Op::bit_xor:
      return v[0] ^ v[1];
    case Op::bit_not:
      return in.type.kind == 'p' ? static_cast<Bits>(v[0] == 0) : ~v[0];
    case Op::shl:
    case Op::shr:
      return shifted(in, v[0], v[1]);
    case Op::cvt:
      return converted(in, v[0]);
    case Op::cvt_fp8:
      return fp8_bits(f32(v[0]), in.mantissa) << 8 | fp8_bits(f32(v[1]), in.mantissa);
    case Op::cvt_pair:
      return pair_from_floats(in, v[0], v[1]);
    case Op::set_pair:
    case Op::add_pair:
    case Op::max_pair:
      return of_pairs(in, v[0], v[1]);
    case Op::min:
    case Op::max:
      return extreme(in, v[0], v[1]);
    case Op::mul_wide:
      return wide_product(in, v[0], v[1]);
    case Op::mul_lo:
      return v[0] * v[1];
    case Op::mad_lo:
      return v[0] * v[1] + v[2];
    case Op::prmt:
      return permuted(v[0], v[1], v[2]);
    case Op::bfi:
      return inserted(in, v);
    default:
      break;
  }
  if (in.type.is_float()) return float_of(in, v);
  switch (in.op) {
    case Op::add:
      return v[0] + v[1];
    case Op::sub:
      return v[0] - v[1];
    case Op::neg:
      return 0 - v[0];
    case Op::abs: {
      const std::int64_t number = signed_of(v[0], in.type.bits);
      return static_cast<Bits>(number < 0 ? -number : number);
    }
    case Op::div:
    case Op::rem:
      return divided(in, v[0], v[1]);
    default:
      refuse("no instruction of integers");
  }
}

}  // namespace tare::kernels::ptx
