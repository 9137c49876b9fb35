// A tensor's summary, by the warps of a GPU or, lane after lane, by the host: with the same bits.
//
// A chunk of 512 values is what a warp holds in registers: its mean first, then the squares about that. 16 chunks are a
// piece, which one warp takes chunk by chunk; pieces are merged in 32 chains, and those as a tree. What is counted has
// no order.
#pragma once

#include <cstdint>

#include "kernels/element.hpp"
#include "kernels/simt.hpp"
#include "kernels/summary.hpp"

namespace tare::kernels::cuda {

inline constexpr int chunk_rows = 16;
inline constexpr std::uint32_t chunk_elements = warp_lanes * chunk_rows;
inline constexpr std::uint32_t summary_piece = 16 * chunk_elements;

/// Of one tensor, added up by whoever finds them: a row for each bin of the histogram, and for what is in none.
struct SummaryCounts {
  static constexpr int below = 0;
  static constexpr int first_bin = 1;
  static constexpr int above = first_bin + ExponentHistogram::bin_count;
  static constexpr int zero = above + 1;
  static constexpr int row_count = zero + 1;

  std::uint64_t rows[row_count];
  std::uint64_t nans;
  std::uint64_t infinities;
  std::uint64_t subnormals;
};

/// The rows for each lane of a warp. A lane sees 256 values of a piece.
struct SummaryColumns {
  std::uint16_t of[SummaryCounts::row_count][warp_lanes];
};

/// What a lane has seen of a piece; magnitudes as their bits, and of those that are not zero 1 less, so that zero is
/// none.
template <class E>
struct LaneSeen {
  std::uint32_t nans = 0;
  std::uint32_t infinities = 0;
  std::uint32_t subnormals = 0;
  typename E::Math min = static_cast<typename E::Math>(__builtin_inff());
  typename E::Math max = static_cast<typename E::Math>(-__builtin_inff());
  typename E::Bits least_below = static_cast<typename E::Bits>(~typename E::Bits{0});
};

struct SummaryInput {
  const unsigned char* data;
  std::uint64_t count;
  std::int32_t dtype;
};

TARE_HD inline std::uint64_t summary_pieces(std::uint64_t count) {
  return (count + summary_piece - 1) / summary_piece;
}

/// Exact, and signed.
template <class E>
TARE_HD inline typename E::Math stored_value(typename E::Bits bits) {
  if constexpr (E::dtype == Dtype::f8_e4m3fn) {  // Element's own knows no sign
    return widen<F8E4m3fn>(bits);
  } else {
    return E::value(bits);
  }
}

/// Patterns of magnitudes: the first that is no number, infinity if there is one, and the smallest normal number's.
template <Dtype Id>
struct Patterns;
template <>
struct Patterns<Dtype::f32> {
  static constexpr std::uint32_t not_finite = 0x7f800000u, infinity = not_finite, normal = 1u << 23;
};
template <>
struct Patterns<Dtype::f64> {
  static constexpr std::uint64_t not_finite = std::uint64_t{0x7ff} << 52, infinity = not_finite,
                                 normal = std::uint64_t{1} << 52;
};
template <>
struct Patterns<Dtype::f16> {
  static constexpr std::uint32_t not_finite = 0x7c00u, infinity = not_finite, normal = 1u << 10;
};
template <>
struct Patterns<Dtype::bf16> {
  static constexpr std::uint32_t not_finite = 0x7f80u, infinity = not_finite, normal = 1u << 7;
};
template <>
struct Patterns<Dtype::f8_e4m3fn> {
  static constexpr std::uint32_t not_finite = 0x7fu, infinity = 0x100u, normal = 1u << 3;  // no infinity
};
template <>
struct Patterns<Dtype::f8_e5m2> {
  static constexpr std::uint32_t not_finite = 0x7cu, infinity = not_finite, normal = 1u << 2;
};

/// Of a value that is not zero; a subnormal double's exponent field is 0, and far below the lowest bin.
TARE_HD inline int row_of(double value) {
  const auto exponent = static_cast<std::int32_t>(static_cast<std::uint32_t>(bits_of(value) >> 52) & 0x7ffu);
  const std::int32_t row = exponent - (1023 + ExponentHistogram::lowest) + SummaryCounts::first_bin;
  return smaller(larger(row, std::int32_t{SummaryCounts::below}), std::int32_t{SummaryCounts::above});
}

/// Of numbers; which zero of two is open.
template <class Float>
TARE_HD inline Float least(Float a, Float b) {
#if defined(__CUDA_ARCH__)
  return fmin(a, b);
#else
  return smaller(a, b);
#endif
}
template <class Float>
TARE_HD inline Float greatest(Float a, Float b) {
#if defined(__CUDA_ARCH__)
  return fmax(a, b);
#else
  return larger(a, b);
#endif
}

/// A lane's values of a chunk, those that are not finite as 0, and which of them are.
struct LaneValues {
  double of[chunk_rows];
  std::uint32_t finite = 0;  // a bit for each
  std::uint32_t count = 0;
  double sum = 0;
  double magnitudes = 0;
  double squares = 0;
};

/// Counts a finite value, which without its scale is `value`.
template <class E>
TARE_HD inline void note_finite(typename E::Bits bits, typename E::Math stored, double value, LaneSeen<E>& seen,
                                SummaryColumns& columns, int lane) {
  using Bits = typename E::Bits;
  const auto magnitude = static_cast<Bits>(bits & E::magnitude);
  const auto below = static_cast<Bits>(magnitude - 1u);
  seen.min = least(seen.min, stored);
  seen.max = greatest(seen.max, stored);
  seen.least_below = smaller(seen.least_below, below);
  seen.subnormals += below < static_cast<Bits>(Patterns<E::dtype>::normal - 1u) ? 1 : 0;
  ++columns.of[magnitude == 0 ? SummaryCounts::zero : row_of(value)][lane];
}

TARE_HD inline void add_value(LaneValues& values, int row, double value) {
  values.of[row] = value;
  values.finite |= 1u << row;
  values.sum += value;
  values.magnitudes += __builtin_fabs(value);
}

/// Of a whole chunk without infinities and nan, and a scale whose inverse will do: without a branch.
template <class E>
TARE_HD inline void note_plain(const typename E::Bits (&bits)[chunk_rows], int lane, double inverse, LaneSeen<E>& seen,
                               SummaryColumns& columns, LaneValues& values) {
  values.count = chunk_rows;
  unrolled<chunk_rows>([&](int row) {
    const typename E::Math stored = stored_value<E>(bits[row]);
    const double value = static_cast<double>(stored) * inverse;
    note_finite<E>(bits[row], stored, value, seen, columns, lane);
    add_value(values, row, value);
  });
}

/// Of any `count` values.
template <class E>
TARE_HD inline void note_any(const typename E::Bits (&bits)[chunk_rows], std::uint32_t count, int lane,
                             const Unscaling& unscaling, LaneSeen<E>& seen, SummaryColumns& columns,
                             LaneValues& values) {
  unrolled<chunk_rows>([&](int row) {
    values.of[row] = 0;
    if (static_cast<std::uint32_t>(row * warp_lanes + lane) >= count) return;
    const auto magnitude = static_cast<typename E::Bits>(bits[row] & E::magnitude);
    if (magnitude >= Patterns<E::dtype>::not_finite) {
      ++(magnitude == Patterns<E::dtype>::infinity ? seen.infinities : seen.nans);
      return;
    }
    const typename E::Math stored = stored_value<E>(bits[row]);
    const double value = unscaling.of(static_cast<double>(stored));
    note_finite<E>(bits[row], stored, value, seen, columns, lane);
    add_value(values, row, value);
    ++values.count;
  });
}

template <class E>
TARE_HD inline LaneValues values_of_lane(const typename E::Bits* chunk, std::uint32_t count, int lane,
                                         const Unscaling& unscaling, LaneSeen<E>& seen, SummaryColumns& columns) {
  using Bits = typename E::Bits;
  Bits bits[chunk_rows];
  Bits greatest_magnitude = 0;
  unrolled<chunk_rows>([&](int row) {
    const auto place = static_cast<std::uint32_t>(row * warp_lanes + lane);
    bits[row] = place < count ? chunk[place] : 0;
  });
  unrolled<chunk_rows>(
      [&](int row) { greatest_magnitude = larger(greatest_magnitude, static_cast<Bits>(bits[row] & E::magnitude)); });
  const bool is_plain =
      count == chunk_elements && unscaling.inverse != 0 && greatest_magnitude < Patterns<E::dtype>::not_finite;
  LaneValues values;
  if (is_plain) {
    note_plain<E>(bits, lane, unscaling.inverse, seen, columns, values);
  } else {
    note_any<E>(bits, count, lane, unscaling, seen, columns, values);
  }
  return values;
}

TARE_HD inline void add_squares(LaneValues& values, double mean) {
  const auto add = [&](int row) {
    const double difference = values.of[row] - mean;
    values.squares += difference * difference;
  };
  if (values.finite == (1u << chunk_rows) - 1) {
    unrolled<chunk_rows>(add);
  } else {
    unrolled<chunk_rows>([&](int row) {
      if ((values.finite >> row & 1u) != 0) add(row);
    });
  }
}

/// The same for all lanes; without the extremes, which lanes keep for a piece.
template <class E>
TARE_HD inline Moments moments_of_chunk(const typename E::Bits* chunk, std::uint32_t count, const Unscaling& unscaling,
                                        PerLane<LaneSeen<E>>& seen, SummaryColumns& columns) {
  const auto plus = [](auto a, auto b) { return a + b; };
  PerLane<LaneValues> lanes;
  each_lane(
      [&](int i) { lanes.value[i] = values_of_lane<E>(chunk, count, lane_at(i), unscaling, seen.value[i], columns); });
  for (int mask = 1; mask < warp_lanes; mask *= 2) {
    combine_across(
        mask, [&](int i) -> std::uint32_t& { return lanes.value[i].count; }, plus);
    combine_across(
        mask, [&](int i) -> double& { return lanes.value[i].sum; }, plus);
    combine_across(
        mask, [&](int i) -> double& { return lanes.value[i].magnitudes; }, plus);
  }
  Moments moments;
  moments.count = lanes.value[0].count;
  if (lanes.value[0].count == 0) return moments;
  moments.mean = lanes.value[0].sum / moments.count;
  moments.mean_abs = lanes.value[0].magnitudes / moments.count;
  each_lane([&](int i) { add_squares(lanes.value[i], moments.mean); });
  for (int mask = 1; mask < warp_lanes; mask *= 2) {
    combine_across(
        mask, [&](int i) -> double& { return lanes.value[i].squares; }, plus);
  }
  moments.squares_about_mean = lanes.value[0].squares;
  return moments;
}

/// What lanes have seen, put together.
template <class E>
TARE_HD inline void combine_seen(PerLane<LaneSeen<E>>& seen) {
  using Bits = typename E::Bits;
  using Math = typename E::Math;
  const auto plus = [](std::uint32_t a, std::uint32_t b) { return a + b; };
  for (int mask = 1; mask < warp_lanes; mask *= 2) {
    combine_across(
        mask, [&](int i) -> std::uint32_t& { return seen.value[i].nans; }, plus);
    combine_across(
        mask, [&](int i) -> std::uint32_t& { return seen.value[i].infinities; }, plus);
    combine_across(
        mask, [&](int i) -> std::uint32_t& { return seen.value[i].subnormals; }, plus);
    combine_across(
        mask, [&](int i) -> Math& { return seen.value[i].min; }, [](Math a, Math b) { return least(a, b); });
    combine_across(
        mask, [&](int i) -> Math& { return seen.value[i].max; }, [](Math a, Math b) { return greatest(a, b); });
    combine_across(
        mask, [&](int i) -> Bits& { return seen.value[i].least_below; }, [](Bits a, Bits b) { return smaller(a, b); });
  }
}

/// The extremes without their scale: quotients are in the order of what is divided.
template <class E>
TARE_HD inline void add_extremes(const LaneSeen<E>& seen, const Unscaling& unscaling, Moments& moments) {
  using Bits = typename E::Bits;
  if (moments.count == 0) return;
  moments.min = unscaling.of(static_cast<double>(seen.min)) + 0.0;  // there is one zero
  moments.max = unscaling.of(static_cast<double>(seen.max)) + 0.0;
  if (seen.least_below >= E::magnitude) return;  // all are zero
  moments.min_abs = unscaling.of(static_cast<double>(stored_value<E>(static_cast<Bits>(seen.least_below + 1u))));
}

/// A warp's piece of a tensor. `columns`, which are cleared, are left for add_columns.
template <class E>
TARE_HD inline void summarise_piece(const SummaryInput& tensor, std::uint64_t number, const Unscaling& unscaling,
                                    SummaryColumns& columns, Moments& into, SummaryCounts& counts) {
  const std::uint64_t first = number * summary_piece;
  const auto* piece = reinterpret_cast<const typename E::Bits*>(tensor.data) + first;
  const auto size = static_cast<std::uint32_t>(smaller<std::uint64_t>(tensor.count - first, summary_piece));
  each_lane([&](int i) {
    for (auto& row : columns.of) row[lane_at(i)] = 0;
  });
  PerLane<LaneSeen<E>> seen;
  Moments moments;
  for (std::uint32_t from = 0; from < size; from += chunk_elements) {
    merge(moments, moments_of_chunk<E>(piece + from, smaller(size - from, chunk_elements), unscaling, seen, columns));
  }
  combine_seen(seen);
  each_lane([&](int i) {
    if (lane_at(i) != 0) return;
    const LaneSeen<E>& all = seen.value[i];
    Moments whole = moments;
    add_extremes(all, unscaling, whole);
    into = whole;
    add_count(&counts.nans, all.nans);
    add_count(&counts.infinities, all.infinities);
    add_count(&counts.subnormals, all.subnormals);
  });
}

/// A piece's rows, once all lanes are done with them.
TARE_HD inline void add_columns(const SummaryColumns& columns, SummaryCounts& counts) {
  each_lane([&](int i) {
    for (int row = lane_at(i); row < SummaryCounts::row_count; row += warp_lanes) {
      std::uint32_t sum = 0;
      for (int k = 0; k < warp_lanes; ++k) sum += columns.of[row][(k + row) % warp_lanes];
      add_count(counts.rows + row, sum);
    }
  });
}

TARE_HD inline void summarise(const SummaryInput& tensor, std::uint64_t number, const Unscaling& unscaling,
                              SummaryColumns& columns, Moments& into, SummaryCounts& counts) {
  switch (static_cast<Dtype>(tensor.dtype)) {
    case Dtype::f32:
      return summarise_piece<Element<Dtype::f32>>(tensor, number, unscaling, columns, into, counts);
    case Dtype::f64:
      return summarise_piece<Element<Dtype::f64>>(tensor, number, unscaling, columns, into, counts);
    case Dtype::f16:
      return summarise_piece<Element<Dtype::f16>>(tensor, number, unscaling, columns, into, counts);
    case Dtype::bf16:
      return summarise_piece<Element<Dtype::bf16>>(tensor, number, unscaling, columns, into, counts);
    case Dtype::f8_e4m3fn:
      return summarise_piece<Element<Dtype::f8_e4m3fn>>(tensor, number, unscaling, columns, into, counts);
    case Dtype::f8_e5m2:
      return summarise_piece<Element<Dtype::f8_e5m2>>(tensor, number, unscaling, columns, into, counts);
  }
}

template <double Moments::*Member>
TARE_HD inline void take_member(PerLane<Moments>& from_others, int mask) {
  take_from([&](int i) -> double& { return from_others.value[i].*Member; }, [mask](int lane) { return lane ^ mask; });
}

/// The chains of a tensor, put together; the first lane has it.
TARE_HD inline void merge_chains(PerLane<Moments>& chains) {
  for (int mask = 1; mask < warp_lanes; mask *= 2) {
    PerLane<Moments> others = chains;
    take_member<&Moments::count>(others, mask);
    take_member<&Moments::mean>(others, mask);
    take_member<&Moments::mean_abs>(others, mask);
    take_member<&Moments::squares_about_mean>(others, mask);
    take_member<&Moments::min>(others, mask);
    take_member<&Moments::max>(others, mask);
    take_member<&Moments::min_abs>(others, mask);
    each_lane([&](int i) { merge(chains.value[i], others.value[i]); });
  }
}

/// One nan, of the same bits on every machine.
TARE_HD inline double one_nan(double value) {
  return is_nan(value) ? double_from(0x7ff8000000000000u) : value;
}

/// All but the bins.
TARE_HD inline void finish_summary(Summary& into, const SummaryInput& tensor, const Moments& moments,
                                   const SummaryCounts& counts, double scale) {
  into.count = tensor.count;
  into.nans = counts.nans;
  into.infinities = counts.infinities;
  into.zeros = counts.rows[SummaryCounts::zero];
  into.subnormals = counts.subnormals;
  into.min = moments.min;
  into.max = moments.max;
  into.max_abs = moments.count == 0 ? 0 : larger(-moments.min, moments.max) + 0.0;
  into.min_abs = moments.min_abs;
  into.mean = one_nan(moments.mean);
  into.mean_abs = one_nan(moments.mean_abs);
  into.squares_about_mean = one_nan(moments.squares_about_mean);
  into.scale = scale;
  into.exponents.below = counts.rows[SummaryCounts::below];
  into.exponents.above = counts.rows[SummaryCounts::above];
}

}  // namespace tare::kernels::cuda
