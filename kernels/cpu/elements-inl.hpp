// Elements of each dtype as vectors of float or double and back, for the instruction set that the including file is
// compiled for. Everything is inside that target's namespace; no function of another header (std:: included) is called,
// because its copy would be compiled for this target and could be linked into all others.
//
// Roundings are to nearest even and denormals are kept, given a default floating-point environment
// (fp_environment.hpp). A NaN keeps its sign and upper payload bits and becomes quiet, as F16C does it; bf16 has the
// one NaN 0x7fc0, as torch.
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef HWY_COMPILE_ONLY_SCALAR
#define HWY_COMPILE_ONLY_STATIC
#endif
#define HWY_DISABLE_PCLMUL_AES  // not used, so not asked of the CPU
#define HWY_IS_DEBUG_BUILD 0    // Highway's checks would need its library
#include <hwy/cache_control.h>
#include <hwy/highway.h>

/// Releases of Highway differ on what they call NEON without cryptography.
#if defined(__aarch64__) && HWY_TARGET != HWY_SCALAR
#define TARE_IS_ARM 1
#else
#define TARE_IS_ARM 0
#endif
#define TARE_IS_NEON (TARE_IS_ARM && HWY_TARGET != HWY_SVE_256)

HWY_BEFORE_NAMESPACE();
namespace tare::kernels::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// One type a dtype: how it is stored, in which precision it is calculated with, and its bits. Magnitudes are compared
// as signed integers, which they never fill; from `infinite` on they are no numbers any more.
struct F32 {
  using Storage = float;
  using Bits = std::int32_t;
  using Math = float;
  static constexpr int id = 1;
  static constexpr Bits magnitude = 0x7fffffff;
  static constexpr Bits infinite = 0x7f800000;
};
struct F64 {
  using Storage = double;
  using Bits = std::int64_t;
  using Math = double;
  static constexpr int id = 2;
  static constexpr Bits magnitude = 0x7fffffffffffffff;
  static constexpr Bits infinite = 0x7ff0000000000000;
};
struct F16 {
  using Storage = std::uint16_t;
  using Bits = std::int16_t;
  using Math = float;
  static constexpr int id = 3;
  static constexpr Bits magnitude = 0x7fff;
  static constexpr Bits infinite = 0x7c00;
};
struct BF16 : F16 {
  static constexpr Bits infinite = 0x7f80;
  static constexpr int id = 4;
};
struct F8E4M3 {
  using Storage = std::uint8_t;
  using Bits = std::int8_t;
  using Math = float;
  static constexpr int id = 5;
  static constexpr Bits magnitude = 0x7f;
  static constexpr Bits infinite = 0x7f;
};
struct F8E5M2 : F8E4M3 {
  static constexpr int id = 6;
  static constexpr Bits infinite = 0x7c;
};

#if HWY_TARGET == HWY_SVE_256

/// How many a vector has. Highway's bound for those that are scalable is below it for half a vector of half the lanes.
template <class D>
inline constexpr std::size_t lanes_of = hn::Lanes(D());

template <class>
struct Fixed;
template <>
struct Fixed<float> {
  using Vector = svfloat32_t __attribute__((arm_sve_vector_bits(256)));
};
template <>
struct Fixed<double> {
  using Vector = svfloat64_t __attribute__((arm_sve_vector_bits(256)));
};
template <>
struct Fixed<std::int8_t> {
  using Vector = svint8_t __attribute__((arm_sve_vector_bits(256)));
};
template <>
struct Fixed<std::int16_t> {
  using Vector = svint16_t __attribute__((arm_sve_vector_bits(256)));
};
template <>
struct Fixed<std::int32_t> {
  using Vector = svint32_t __attribute__((arm_sve_vector_bits(256)));
};
template <>
struct Fixed<std::int64_t> {
  using Vector = svint64_t __attribute__((arm_sve_vector_bits(256)));
};

/// A vector that is a member, or stands in an array: the types of SVE may not, as their size is not known.
template <class D>
class Kept {
 public:
  Kept() = default;
  HWY_INLINE Kept(hn::Vec<D> vector) : vector_(vector) {}
  HWY_INLINE operator hn::Vec<D>() const { return vector_; }

 private:
  typename Fixed<hn::TFromD<D>>::Vector vector_;
};

#else

template <class D>
inline constexpr std::size_t lanes_of = hn::MaxLanes(D());

template <class D>
using Kept = hn::Vec<D>;

#endif

template <class D>
using Bits32 = hn::Rebind<std::uint32_t, D>;
template <class D>
using Bits16 = hn::Rebind<std::uint16_t, D>;

// ---- f16 <-> float --------------------------------------------------------------------------------------------------

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || TARE_IS_ARM

template <class DF>
HWY_INLINE hn::Vec<DF> float_of_half(DF df, hn::Vec<Bits16<DF>> half) {
  return hn::PromoteTo(df, hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), half));
}

template <class DF>
HWY_INLINE hn::Vec<Bits16<DF>> half_of_float(DF, hn::Vec<DF> value) {
  return hn::BitCast(Bits16<DF>(), hn::DemoteTo(hn::Rebind<hwy::float16_t, DF>(), value));
}

#else

template <class DF>
HWY_INLINE hn::Vec<DF> float_of_half(DF df, hn::Vec<Bits16<DF>> half) {
  const Bits32<DF> du;
  const auto wide = hn::PromoteTo(du, half);
  const auto sign = hn::ShiftLeft<16>(hn::And(wide, hn::Set(du, 0x8000u)));
  const auto magnitude = hn::And(wide, hn::Set(du, 0x7fffu));
  const auto shifted = hn::ShiftLeft<13>(magnitude);
  const auto normal = hn::Add(shifted, hn::Set(du, 112u << 23));
  // With the exponent of 2^-14 the significand counts 2^-24s from there on; the subtraction leaves only those.
  const auto base = hn::BitCast(df, hn::Set(du, 113u << 23));
  const auto subnormal = hn::BitCast(du, hn::Sub(hn::BitCast(df, hn::Add(shifted, hn::Set(du, 113u << 23))), base));
  const auto special = hn::Or(shifted, hn::Set(du, 0x7f800000u));
  auto bits = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 0x0400u)), subnormal, normal);
  bits = hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x7bffu)), special, bits);
  const auto quiet = hn::IfThenElseZero(hn::Gt(magnitude, hn::Set(du, 0x7c00u)), hn::Set(du, 0x00400000u));
  return hn::BitCast(df, hn::Or(hn::Or(bits, quiet), sign));
}

template <class DF>
HWY_INLINE hn::Vec<Bits16<DF>> half_of_float(DF df, hn::Vec<DF> value) {
  const Bits32<DF> du;
  const auto wide = hn::BitCast(du, value);
  const auto sign = hn::And(hn::ShiftRight<16>(wide), hn::Set(du, 0x8000u));
  const auto magnitude = hn::And(wide, hn::Set(du, 0x7fffffffu));
  // Half of the last place that is kept, and one less where that place is even; a carry may run into the exponent.
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1u));
  const auto rounded = hn::Add(hn::Add(magnitude, hn::Set(du, 0x0fffu)), odd);
  const auto normal = hn::ShiftRight<13>(hn::Sub(rounded, hn::Set(du, 112u << 23)));
  // Added to 1/2, whose last place is 2^-24, a small value is rounded by the addition.
  const auto half = hn::Set(du, 126u << 23);
  const auto subnormal = hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(df, magnitude), hn::BitCast(df, half))), half);
  auto bits = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 0x38800000u)), subnormal, normal);
  bits = hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x477fefffu)), hn::Set(du, 0x7c00u), bits);
  const auto payload = hn::Or(hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 0x03ffu)), hn::Set(du, 0x7e00u));
  bits = hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x7f800000u)), payload, bits);
  return hn::TruncateTo(Bits16<DF>(), hn::Or(bits, sign));
}

#endif

// ---- bf16 <-> float -------------------------------------------------------------------------------------------------

template <class DF>
HWY_INLINE hn::Vec<DF> float_of_bfloat(DF df, hn::Vec<Bits16<DF>> value) {
  return hn::BitCast(df, hn::ShiftLeft<16>(hn::PromoteTo(Bits32<DF>(), value)));
}

/// The bf16 in the upper half of each word; anything in the lower.
template <class DF>
HWY_INLINE hn::Vec<Bits32<DF>> bfloat_above(DF, hn::Vec<DF> value) {
  const Bits32<DF> du;
  const auto wide = hn::BitCast(du, value);
  const auto odd = hn::And(hn::ShiftRight<16>(wide), hn::Set(du, 1u));
  const auto rounded = hn::Add(hn::Add(wide, hn::Set(du, 0x7fffu)), odd);
  return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(value)), hn::Set(du, 0x7fc00000u), rounded);
}

template <class DF>
HWY_INLINE hn::Vec<Bits16<DF>> bfloat_of_float(DF df, hn::Vec<DF> value) {
  return hn::TruncateTo(Bits16<DF>(), hn::ShiftRight<16>(bfloat_above(df, value)));
}

// ---- loads: exact ---------------------------------------------------------------------------------------------------

template <class DF>
HWY_INLINE hn::Vec<DF> load_float(F32, DF df, const float* at) {
  return hn::LoadU(df, at);
}
template <class DF>
HWY_INLINE hn::Vec<DF> load_float(F16, DF df, const std::uint16_t* at) {
  return float_of_half(df, hn::LoadU(Bits16<DF>(), at));
}
template <class DF>
HWY_INLINE hn::Vec<DF> load_float(BF16, DF df, const std::uint16_t* at) {
  return float_of_bfloat(df, hn::LoadU(Bits16<DF>(), at));
}
template <class DF>
HWY_INLINE hn::Vec<DF> load_float(F8E5M2, DF df, const std::uint8_t* at) {
  const auto wide = hn::PromoteTo(Bits16<DF>(), hn::LoadU(hn::Rebind<std::uint8_t, DF>(), at));
  return float_of_half(df, hn::ShiftLeft<8>(wide));
}
/// The magnitude alone, and 480 for a NaN: statistics need no more.
template <class DF>
HWY_INLINE hn::Vec<DF> load_float(F8E4M3, DF df, const std::uint8_t* at) {
  const Bits16<DF> d16;
  const auto wide = hn::PromoteTo(d16, hn::LoadU(hn::Rebind<std::uint8_t, DF>(), at));
  const auto as_half = hn::ShiftLeft<7>(hn::And(wide, hn::Set(d16, std::uint16_t{0x7f})));
  return hn::Mul(float_of_half(df, as_half), hn::Set(df, 256.0f));  // the exponent biases differ by 8
}

template <class E, class DD>
HWY_INLINE hn::Vec<DD> load_double(E e, DD dd, const typename E::Storage* at) {
  return hn::PromoteTo(dd, load_float(e, hn::Rebind<float, DD>(), at));
}
template <class DD>
HWY_INLINE hn::Vec<DD> load_double(F64, DD dd, const double* at) {
  return hn::LoadU(dd, at);
}

// ---- stores: one rounding, but two from f64 to 16 bits (by way of f32, as torch casts) ------------------------------

/// `bypass_cache` asks for an address that is a multiple of the vector's size.
template <class D>
HWY_INLINE void put(D d, hn::Vec<D> value, hn::TFromD<D>* at, bool bypass_cache) {
  if constexpr (lanes_of<D> * sizeof(hn::TFromD<D>) >= 16) {
    if (bypass_cache) {
      hn::Stream(value, d, at);
      return;
    }
  }
  hn::StoreU(value, d, at);
}

template <class DF>
HWY_INLINE void store(F32, DF df, hn::Vec<DF> value, float* at, bool bypass_cache) {
  put(df, value, at, bypass_cache);
}
template <class DF>
HWY_INLINE void store(F16, DF df, hn::Vec<DF> value, std::uint16_t* at, bool bypass_cache) {
  put(Bits16<DF>(), half_of_float(df, value), at, bypass_cache);
}
template <class DF>
HWY_INLINE void store(BF16, DF df, hn::Vec<DF> value, std::uint16_t* at, bool bypass_cache) {
  put(Bits16<DF>(), bfloat_of_float(df, value), at, bypass_cache);
}
template <class DF>
HWY_INLINE void store(F64, DF, hn::Vec<DF> value, double* at, bool bypass_cache) {
  const hn::Rebind<double, DF> dd;
  put(dd, hn::PromoteTo(dd, value), at, bypass_cache);
}

template <class DF>
HWY_INLINE hn::Vec<DF> float_of_double(DF df, hn::Vec<hn::Rebind<double, DF>> value) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(df, static_cast<float>(hn::GetLane(value)));  // Highway's own stops at the greatest finite float
#else
  return hn::DemoteTo(df, value);
#endif
}

}  // namespace tare::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
