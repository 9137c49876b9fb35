// Values read, observed, transformed and written in one pass: in place, or into another array of the same or another
// dtype. Calculations are in float (double for f64), as torch does them.
#pragma once

#include "kernels/cpu/observe-inl.hpp"
#include "kernels/cpu/summarise-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tare::kernels::cpu::HWY_NAMESPACE {

template <class E>
inline constexpr bool is_double = sizeof(typename E::Storage) == 8;

// As many lanes as fit a vector of whichever side is wider.
template <bool IsDouble>
struct WidestTag {
  using Type = hn::ScalableTag<float>;
};
template <>
struct WidestTag<true> {
  using Type = hn::ScalableTag<double>;
};
template <class From, class To>
using MathTag = hn::Rebind<typename From::Math, typename WidestTag<is_double<From> || is_double<To>>::Type>;

template <class DF, class E>
HWY_INLINE hn::Vec<DF> load_math(E e, DF df, const typename E::Storage* at) {
  if constexpr (is_double<E>) {
    return load_double(e, df, at);
  } else {
    return load_float(e, df, at);
  }
}

template <class E, class D>
HWY_INLINE void store_math(E e, D d, hn::Vec<D> value, typename E::Storage* at, bool bypass_cache) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    store(e, d, value, at, bypass_cache);
  } else if constexpr (is_double<E>) {
    put(d, value, at, bypass_cache);
  } else {
    const hn::Rebind<float, D> df;
    store(e, df, float_of_double(df, value), at, bypass_cache);
  }
}

/// The constants of a Recipe as vectors, and what is done with them.
template <class From, class D>
class Transformer {
  using T = hn::TFromD<D>;

 public:
  explicit HWY_INLINE Transformer(const Recipe& recipe)
      : times_nan_(recipe.scale_is_nan),
        scales_(recipe.scales),
        clips_norm_(recipe.clips_norm),
        clips_values_(recipe.clips_values),
        inverse_scale_(hn::Set(D(), static_cast<T>(recipe.inverse_scale))),
        coefficient_(hn::Set(D(), static_cast<T>(recipe.coefficient))),
        limit_(hn::Set(D(), static_cast<T>(recipe.limit))) {}

  HWY_INLINE hn::Vec<D> apply(hn::Vec<D> value) const {
    if (times_nan_) {
      value = times_nan(value);
    } else if (scales_ || From::id == BF16::id) {  // a product with 1 makes NaN quiet, as a shift does not
      value = hn::Mul(value, inverse_scale_);
    }
    if (clips_norm_) value = hn::Mul(value, coefficient_);
    if (clips_values_) {  // comparisons with NaN are false: it stays
      const hn::Vec<D> limit = limit_;
      value = hn::IfThenElse(hn::Gt(value, limit), limit, value);
      value = hn::IfThenElse(hn::Lt(value, hn::Neg(limit)), hn::Neg(limit), value);
    }
    return value;
  }

 private:
  // Which of two NaN a product keeps depends on the order of the operands, which compilers are free to choose. torch's
  // builds keep the scale's for f32, the value's (made quiet) for the others.
  HWY_INLINE hn::Vec<D> times_nan(hn::Vec<D> value) const {
    if constexpr (From::id == F32::id) {
      return inverse_scale_;
    } else {
      return hn::IfThenElse(hn::Eq(value, value), inverse_scale_, hn::Add(value, value));
    }
  }

  bool times_nan_;
  bool scales_;
  bool clips_norm_;
  bool clips_values_;
  Kept<D> inverse_scale_;
  Kept<D> coefficient_;
  Kept<D> limit_;
};

/// Nothing but the product with a scale that is a number: unscaling in place is no more, and needs no branches.
template <class D>
class Scaling {
 public:
  explicit HWY_INLINE Scaling(const Recipe& recipe)
      : inverse_scale_(hn::Set(D(), static_cast<hn::TFromD<D>>(recipe.inverse_scale))) {}

  HWY_INLINE hn::Vec<D> apply(hn::Vec<D> value) const { return hn::Mul(value, inverse_scale_); }

 private:
  Kept<D> inverse_scale_;
};

/// (a + b + 1) / 2.
template <class V>
HWY_INLINE V average_round(V a, V b) {
#if HWY_TARGET == HWY_SVE_256
  return hn::Sub(hn::Or(a, b), hn::ShiftRight<1>(hn::Xor(a, b)));  // Highway's own loses the carry
#else
  return hn::AverageRound(a, b);
#endif
}

/// 32 bf16 elements as 16 words: neither reading nor writing has to move values between lanes. REQUIRES: no NaN comes
/// out.
template <class D, class Change>
HWY_INLINE void write_pairs(const Change& change, const std::uint16_t* from, std::uint16_t* to, bool bypass_cache) {
  const D d;
  const Bits32<D> du;
  const hn::Repartition<std::uint16_t, D> d16;
  const auto upper = hn::Set(du, 0xffff0000u);
#pragma GCC unroll unroll_count
  for (std::size_t i = 0; i < block_elements / 2; i += lanes_of<D>) {
    const auto words = hn::LoadU(du, reinterpret_cast<const std::uint32_t*>(from) + i);
    const auto even = hn::BitCast(du, change.apply(hn::BitCast(d, hn::ShiftLeft<16>(words))));
    const auto odd = hn::BitCast(du, change.apply(hn::BitCast(d, hn::And(words, upper))));
    // All 32 at once from here: what is kept, what is cut off, and whether the latter (with a kept part that is odd: or
    // half of it) carries. (cut + 0x7ffe + odd + 1) / 2 has the carry as its highest bit.
    const auto kept = hn::OddEven(hn::BitCast(d16, odd), hn::BitCast(d16, hn::ShiftRight<16>(even)));
    const auto cut = hn::OddEven(hn::BitCast(d16, hn::ShiftLeft<16>(odd)), hn::BitCast(d16, even));
    const auto to_even = hn::Or(hn::And(kept, hn::Set(d16, std::uint16_t{1})), hn::Set(d16, std::uint16_t{0x7ffe}));
    const auto carry = hn::ShiftRight<15>(average_round(cut, to_even));
    put(du, hn::BitCast(du, hn::Add(kept, carry)), reinterpret_cast<std::uint32_t*>(to) + i, bypass_cache);
  }
}

/// 32 elements; `to` may be `from`.
template <class From, class To, class Change>
HWY_INLINE void write_block(const Change& change, const typename From::Storage* from, typename To::Storage* to,
                            bool bypass_cache) {
  using D = MathTag<From, To>;
#pragma GCC unroll unroll_count
  for (std::size_t i = 0; i < block_elements; i += lanes_of<D>) {
    store_math(To(), D(), change.apply(load_math(From(), D(), from + i)), to + i, bypass_cache);
  }
}

template <class From, class To, class Change>
HWY_INLINE void write_blocks(const Change& change, const typename From::Storage* from, typename To::Storage* to,
                             std::size_t blocks, bool finite, bool bypass_cache) {
  if constexpr (From::id == BF16::id && To::id == BF16::id && HWY_TARGET != HWY_SCALAR) {
    if (finite) {
      for (std::size_t i = 0; i < blocks; ++i)
        write_pairs<MathTag<From, To>>(change, from + i * block_elements, to + i * block_elements, bypass_cache);
      return;
    }
  }
  for (std::size_t i = 0; i < blocks; ++i)
    write_block<From, To>(change, from + i * block_elements, to + i * block_elements, bypass_cache);
}

/// Blocks that are observed and then written: few enough to stay in the first cache.
inline constexpr std::size_t part_blocks = 16;

template <class From, class To, class Change>
HWY_INLINE void observe_and_write(const typename From::Storage* from, typename To::Storage* to, std::uint32_t count,
                                  const Recipe& recipe, const Change change, bool bypass_cache, Found& found) {
  static_assert(blocks_of_run<From> % part_blocks == 0);
  Observer<From> observer(recipe, count);
  const std::size_t whole = count / block_elements;
  for (std::size_t done = 0; done < whole;) {
    const std::size_t blocks = whole - done < part_blocks ? whole - done : part_blocks;
    observer.take_apart(from, blocks);
    done += blocks;
    if (done % blocks_of_run<From> == 0) observer.end_run();
    write_blocks<From, To>(change, from, to, blocks, recipe.factors_are_finite && observer.all_finite(), bypass_cache);
    from += blocks * block_elements;
    to += blocks * block_elements;
  }
  const std::uint32_t rest = count % block_elements;
  if (rest != 0) {
    PaddedBlock<From> block;
    PaddedBlock<To> written;
    block.take(from, rest);
    observer.take(block.elements, 1);
    write_block<From, To>(change, block.elements, written.elements, false);
    written.give(to, rest);
  }
  observer.finish(count, found);
}

/// REQUIRES: count <= small.
template <class From, class To, class Change>
HWY_INLINE void write_small(const typename From::Storage* from, typename To::Storage* to, std::uint32_t count,
                            const Change change) {
  using One = hn::CappedTag<hn::TFromD<MathTag<From, To>>, 1>;
  for (std::uint32_t i = 0; i < count; ++i) {
    store_math(To(), One(), change.apply(load_math(From(), One(), from + i)), to + i, false);
  }
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
/// REQUIRES: count is 4 or 8; Recipe::only_scales.
HWY_INLINE void unscale_4_or_8(float* at, std::uint32_t count, const Recipe& recipe, Found& found) {
  const SmallTag df;
  const hn::Half<SmallTag> df4;
  const auto values = hn::Mul(observe_4_or_8(at, count, recipe, found), hn::Set(df, recipe.inverse_scale));
  if (count == small) {
    hn::StoreU(values, df, at);
  } else {
    hn::StoreU(hn::LowerHalf(df4, values), df4, at);
  }
}
#endif

template <class From, class To>
void write_piece(const void* in, void* out, std::uint32_t count, const Recipe& recipe, Found& found) {
  using D = MathTag<From, To>;
  const auto* from = static_cast<const typename From::Storage*>(in);
  auto* to = static_cast<typename To::Storage*>(out);
  if (count <= small) {
    using One = hn::CappedTag<hn::TFromD<D>, 1>;
    observe_small<From>(from, count, recipe, found);
    if (recipe.only_scales) return write_small<From, To>(from, to, count, Scaling<One>(recipe));
    return write_small<From, To>(from, to, count, Transformer<From, One>(recipe));
  }
  if constexpr (From::id == To::id) {
    if (in == out && recipe.only_scales) {
      return observe_and_write<From, To>(from, to, count, recipe, Scaling<D>(recipe), false, found);
    }
  }
  const bool bypass_cache = recipe.bypass_cache && out != in && reinterpret_cast<std::uintptr_t>(to) % 64 == 0;
  observe_and_write<From, To>(from, to, count, recipe, Transformer<From, D>(recipe), bypass_cache, found);
  if (bypass_cache) hwy::FlushStream();
}

/// REQUIRES: count <= small; Recipe::only_scales.
template <class E, class Change>
HWY_INLINE void unscale_small(typename E::Storage* at, std::uint32_t count, const Recipe& recipe, const Change& change,
                              Found& found) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  if constexpr (E::id == F32::id) {
    if (count % 4 == 0) return unscale_4_or_8(at, count, recipe, found);
  }
#endif
  observe_small<E>(at, count, recipe, found);
  write_small<E, E>(at, at, count, change);
}

template <class E>
void unscale_small_pieces(const Piece* pieces, std::size_t count, const Recipe& recipe, Found* found) {
  const Scaling<hn::CappedTag<typename E::Math, 1>> change(recipe);
  for (std::size_t i = 0; i < count; ++i) {
    unscale_small<E>(static_cast<typename E::Storage*>(pieces[i].data), pieces[i].count, recipe, change, found[i]);
  }
}

template <class E>
void unscale_together(void* at, const Recipe& recipe, Found* found) {
  const Scaling<MathTag<E, E>> change(recipe);
  in_turns<E>(static_cast<typename E::Storage*>(at), recipe, found, [&](auto* from, const auto& counts) HWY_ATTR {
    write_blocks<E, E>(change, from, from, turn_blocks<E>, recipe.factors_are_finite && counts.all_finite(), false);
  });
}

template <class From>
consteval void add_writers(PieceTable& table) {
  table.unscale_small[From::id] = unscale_small_pieces<From>;
  table.write[From::id][F32::id] = write_piece<From, F32>;
  table.write[From::id][F64::id] = write_piece<From, F64>;
  table.write[From::id][F16::id] = write_piece<From, F16>;
  table.write[From::id][BF16::id] = write_piece<From, BF16>;
}

template <class... E>
consteval void add_observers(PieceTable& table) {
  ((table.observe[E::id] = observe_piece<E>), ...);
  ((table.observe_small[E::id] = observe_small_pieces<E>), ...);
}

consteval PieceTable make_table() {
  PieceTable table = {};
  add_observers<F32, F64, F16, BF16, F8E4M3, F8E5M2>(table);
  // Several streams are of use where calculations take less time than memory.
  table.observe_together[F32::id] = observe_together<F32>;
  table.observe_together[F64::id] = observe_together<F64>;
  table.observe_together[F16::id] = observe_together<F16>;
  table.observe_together[BF16::id] = observe_together<BF16>;
  table.unscale_together[F32::id] = unscale_together<F32>;
  table.unscale_together[F64::id] = unscale_together<F64>;
  table.unscale_together[F16::id] = unscale_together<F16>;
#if HWY_TARGET == HWY_AVX3
  table.observe_together[F8E4M3::id] = observe_fp8_together<F8E4M3>;
  table.observe_together[F8E5M2::id] = observe_fp8_together<F8E5M2>;
  table.unscale_together[BF16::id] = unscale_together<BF16>;
#endif
  add_writers<F32>(table);
  add_writers<F64>(table);
  add_writers<F16>(table);
  add_writers<BF16>(table);
  table.summarise_chunk = summarise_chunk;
  return table;
}

}  // namespace tare::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
