// A tensor's summary, by the warps of a GPU or, lane after lane, by the host: with the same bits.
//
// A chunk of 512 values is what a warp holds in registers: its mean first, then the squares about that. 64 chunks are a
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
inline constexpr std::uint32_t summary_piece = 64 * chunk_elements;

/// Of one tensor, added up by whoever finds them.
struct SummaryCounts {
  static constexpr int below = ExponentHistogram::bin_count;
  static constexpr int above = below + 1;
  static constexpr int bin_count = above + 1;

  std::uint64_t bins[bin_count];
  std::uint64_t nans;
  std::uint64_t infinities;
  std::uint64_t zeros;
  std::uint64_t subnormals;
};

/// A histogram for each lane of a warp. A lane sees 1,024 values of a piece.
struct ExponentColumns {
  std::uint16_t of[SummaryCounts::bin_count][warp_lanes];
};

/// What a lane has seen of a piece.
struct LaneSeen {
  std::uint32_t nans = 0;
  std::uint32_t infinities = 0;
  std::uint32_t zeros = 0;
  std::uint32_t subnormals = 0;
  double min = __builtin_inf();
  double max = -__builtin_inf();
  double min_abs = __builtin_inf();
};

struct SummaryInput {
  const unsigned char* data;
  std::uint64_t count;
  std::int32_t dtype;
};

TARE_HD inline std::uint64_t summary_pieces(std::uint64_t count) {
  return (count + summary_piece - 1) / summary_piece;
}

/// Exact; of any nan, nan.
template <class E>
TARE_HD inline double stored_value(typename E::Bits bits) {
  if constexpr (E::dtype == Dtype::f8_e4m3fn) {  // Element's own knows no sign
    return static_cast<double>(widen<F8E4m3fn>(bits));
  } else {
    return static_cast<double>(E::value(bits));
  }
}

template <Dtype Id>
inline constexpr double smallest_normal = 0;
template <>
inline constexpr double smallest_normal<Dtype::f32> = 0x1p-126;
template <>
inline constexpr double smallest_normal<Dtype::f64> = 0x1p-1022;
template <>
inline constexpr double smallest_normal<Dtype::f16> = 0x1p-14;
template <>
inline constexpr double smallest_normal<Dtype::bf16> = 0x1p-126;
template <>
inline constexpr double smallest_normal<Dtype::f8_e4m3fn> = 0x1p-6;
template <>
inline constexpr double smallest_normal<Dtype::f8_e5m2> = 0x1p-14;

/// The row of a histogram; a subnormal double's exponent field is 0, and far below the lowest bin.
TARE_HD inline int bin_of(double magnitude) {
  const int bin = static_cast<int>(bits_of(magnitude) >> 52) - 1023 - ExponentHistogram::lowest;
  if (bin < 0) return SummaryCounts::below;
  return bin < ExponentHistogram::bin_count ? bin : SummaryCounts::above;
}

/// Counts a value that is finite, and gives it without its scale.
template <Dtype Id>
TARE_HD inline double note_finite(double stored, const Unscaling& unscaling, LaneSeen& seen, ExponentColumns& columns,
                                  int lane) {
  const double value = unscaling.of(stored) + 0.0;  // there is one zero
  seen.min = smaller(seen.min, value);
  seen.max = larger(seen.max, value);
  if (stored == 0) {
    ++seen.zeros;
    return value;
  }
  const double magnitude = value < 0 ? -value : value;
  const double stored_magnitude = stored < 0 ? -stored : stored;
  seen.subnormals += stored_magnitude < smallest_normal<Id> ? 1 : 0;
  seen.min_abs = smaller(seen.min_abs, magnitude);
  ++columns.of[bin_of(magnitude)][lane];
  return value;
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

template <class E>
TARE_HD inline LaneValues values_of_lane(const typename E::Bits* chunk, std::uint32_t count, int lane,
                                         const Unscaling& unscaling, LaneSeen& seen, ExponentColumns& columns) {
  typename E::Bits bits[chunk_rows];
  const auto place = [&](int row) { return static_cast<std::uint32_t>(row * warp_lanes + lane); };
  unrolled<chunk_rows>([&](int row) { bits[row] = place(row) < count ? chunk[place(row)] : 0; });
  LaneValues values;
  unrolled<chunk_rows>([&](int row) {
    const double stored = stored_value<E>(bits[row]);
    values.of[row] = 0;
    if (place(row) >= count) return;
    if (!is_finite(stored)) {
      ++(is_nan(stored) ? seen.nans : seen.infinities);
      return;
    }
    const double value = note_finite<E::dtype>(stored, unscaling, seen, columns, lane);
    values.of[row] = value;
    values.finite |= 1u << row;
    ++values.count;
    values.sum += value;
    values.magnitudes += value < 0 ? -value : value;
  });
  return values;
}

/// The same for all lanes; without the extremes, which lanes keep for a piece.
template <class E>
TARE_HD inline Moments moments_of_chunk(const typename E::Bits* chunk, std::uint32_t count, const Unscaling& unscaling,
                                        PerLane<LaneSeen>& seen, ExponentColumns& columns) {
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
  each_lane([&](int i) {
    LaneValues& own = lanes.value[i];
    unrolled<chunk_rows>([&](int row) {
      const double difference = own.of[row] - moments.mean;
      if ((own.finite >> row & 1u) != 0) own.squares += difference * difference;
    });
  });
  for (int mask = 1; mask < warp_lanes; mask *= 2) {
    combine_across(
        mask, [&](int i) -> double& { return lanes.value[i].squares; }, plus);
  }
  moments.squares_about_mean = lanes.value[0].squares;
  return moments;
}

/// What lanes have seen, put together.
TARE_HD inline void combine_seen(PerLane<LaneSeen>& seen) {
  const auto plus = [](std::uint32_t a, std::uint32_t b) { return a + b; };
  const auto least = [](double a, double b) { return smaller(a, b); };
  for (int mask = 1; mask < warp_lanes; mask *= 2) {
    combine_across(
        mask, [&](int i) -> std::uint32_t& { return seen.value[i].nans; }, plus);
    combine_across(
        mask, [&](int i) -> std::uint32_t& { return seen.value[i].infinities; }, plus);
    combine_across(
        mask, [&](int i) -> std::uint32_t& { return seen.value[i].zeros; }, plus);
    combine_across(
        mask, [&](int i) -> std::uint32_t& { return seen.value[i].subnormals; }, plus);
    combine_across(
        mask, [&](int i) -> double& { return seen.value[i].min; }, least);
    combine_across(
        mask, [&](int i) -> double& { return seen.value[i].max; }, [](double a, double b) { return larger(a, b); });
    combine_across(
        mask, [&](int i) -> double& { return seen.value[i].min_abs; }, least);
  }
}

/// A warp's piece of a tensor. `columns`, which are cleared, are left for add_columns.
template <class E>
TARE_HD inline void summarise_piece(const SummaryInput& tensor, std::uint64_t number, const Unscaling& unscaling,
                                    ExponentColumns& columns, Moments& into, SummaryCounts& counts) {
  const std::uint64_t first = number * summary_piece;
  const auto* piece = reinterpret_cast<const typename E::Bits*>(tensor.data) + first;
  const auto size = static_cast<std::uint32_t>(smaller<std::uint64_t>(tensor.count - first, summary_piece));
  each_lane([&](int i) {
    for (auto& row : columns.of) row[lane_at(i)] = 0;
  });
  PerLane<LaneSeen> seen;
  Moments moments;
  for (std::uint32_t from = 0; from < size; from += chunk_elements) {
    merge(moments, moments_of_chunk<E>(piece + from, smaller(size - from, chunk_elements), unscaling, seen, columns));
  }
  combine_seen(seen);
  each_lane([&](int i) {
    if (lane_at(i) != 0) return;
    const LaneSeen& all = seen.value[i];
    Moments whole = moments;
    whole.min = all.min;
    whole.max = all.max;
    whole.min_abs = all.min_abs;
    into = whole;
    add_count(&counts.nans, all.nans);
    add_count(&counts.infinities, all.infinities);
    add_count(&counts.zeros, all.zeros);
    add_count(&counts.subnormals, all.subnormals);
  });
}

/// A piece's histogram, once all lanes are done with it.
TARE_HD inline void add_columns(const ExponentColumns& columns, SummaryCounts& counts) {
  each_lane([&](int i) {
    for (int bin = lane_at(i); bin < SummaryCounts::bin_count; bin += warp_lanes) {
      std::uint32_t sum = 0;
      for (int k = 0; k < warp_lanes; ++k) sum += columns.of[bin][(k + bin) % warp_lanes];
      add_count(counts.bins + bin, sum);
    }
  });
}

TARE_HD inline void summarise(const SummaryInput& tensor, std::uint64_t number, const Unscaling& unscaling,
                              ExponentColumns& columns, Moments& into, SummaryCounts& counts) {
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
  into.zeros = counts.zeros;
  into.subnormals = counts.subnormals;
  into.min = moments.min;
  into.max = moments.max;
  into.max_abs = moments.count == 0 ? 0 : larger(-moments.min, moments.max) + 0.0;
  into.min_abs = moments.min_abs;
  into.mean = one_nan(moments.mean);
  into.mean_abs = one_nan(moments.mean_abs);
  into.squares_about_mean = one_nan(moments.squares_about_mean);
  into.scale = scale;
  into.exponents.below = counts.bins[SummaryCounts::below];
  into.exponents.above = counts.bins[SummaryCounts::above];
}

}  // namespace tare::kernels::cuda
