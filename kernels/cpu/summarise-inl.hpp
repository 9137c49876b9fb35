// A chunk of a tensor's summary, for the instruction set that the including file is compiled for. As in
// elements-inl.hpp, no function of another header is called.
#pragma once

#include "kernels/cpu/elements-inl.hpp"
#include "kernels/cpu/piece.hpp"

HWY_BEFORE_NAMESPACE();
namespace tare::kernels::cpu::HWY_NAMESPACE {

inline constexpr std::uint32_t sum_lanes = 32;
using Doubles = hn::CappedTag<double, 8>;
using DoubleVector = hn::Vec<Doubles>;

/// As a warp's exchanges add them.
inline double tree_of(double (&lanes)[sum_lanes]) {
  for (std::uint32_t mask = 1; mask < sum_lanes; mask *= 2) {
    for (std::uint32_t i = 0; i < sum_lanes; i += 2 * mask) lanes[i] += lanes[i + mask];
  }
  return lanes[0];
}

inline double least_of(const double (&lanes)[sum_lanes]) {
  double least = lanes[0];
  for (const double lane : lanes) least = lane < least ? lane : least;
  return least;
}

/// What each lane has of a chunk.
struct ChunkLanes {
  alignas(64) double sums[sum_lanes];
  alignas(64) double magnitudes[sum_lanes];
  alignas(64) double least[sum_lanes];
  alignas(64) double least_negated[sum_lanes];
  alignas(64) double least_magnitudes[sum_lanes];
};

/// Of values that all count. `stored` tells which are zero.
inline void sum_whole(const double* HWY_RESTRICT stored, const double* HWY_RESTRICT values, ChunkLanes& lanes) {
  const Doubles d;
  const auto infinity = hn::Set(d, __builtin_inf());
  const auto zero = hn::Zero(d);
  for (std::size_t lane = 0; lane < sum_lanes; lane += hn::Lanes(d)) {
    DoubleVector sum = zero;
    DoubleVector magnitudes = zero;
    DoubleVector least = infinity;
    DoubleVector least_negated = infinity;
    DoubleVector least_magnitude = infinity;
    for (std::size_t at = lane; at < chunk_values; at += sum_lanes) {
      const DoubleVector value = hn::Load(d, values + at);
      const DoubleVector magnitude = hn::Abs(value);
      sum = hn::Add(sum, value);
      magnitudes = hn::Add(magnitudes, magnitude);
      least = hn::Min(least, value);
      least_negated = hn::Min(least_negated, hn::Neg(value));
      const auto is_zero = hn::Eq(hn::Load(d, stored + at), zero);
      least_magnitude = hn::Min(least_magnitude, hn::IfThenElse(is_zero, infinity, magnitude));
    }
    hn::Store(sum, d, lanes.sums + lane);
    hn::Store(magnitudes, d, lanes.magnitudes + lane);
    hn::Store(least, d, lanes.least + lane);
    hn::Store(least_negated, d, lanes.least_negated + lane);
    hn::Store(least_magnitude, d, lanes.least_magnitudes + lane);
  }
}

inline double squares_of_whole(const double* HWY_RESTRICT values, double mean) {
  const Doubles d;
  const auto all_mean = hn::Set(d, mean);
  alignas(64) double lanes[sum_lanes];
  for (std::size_t lane = 0; lane < sum_lanes; lane += hn::Lanes(d)) {
    DoubleVector sum = hn::Zero(d);
    for (std::size_t at = lane; at < chunk_values; at += sum_lanes) {
      const DoubleVector difference = hn::Sub(hn::Load(d, values + at), all_mean);
      sum = hn::Add(sum, hn::Mul(difference, difference));
    }
    hn::Store(sum, d, lanes + lane);
  }
  return tree_of(lanes);
}

/// Of those that count: the others are 0 among `values`.
template <class Counts>
inline void sum_some(const double* stored, const double* values, const Counts& counts, ChunkLanes& lanes) {
  for (std::uint32_t lane = 0; lane < sum_lanes; ++lane) {
    lanes.sums[lane] = lanes.magnitudes[lane] = 0;
    lanes.least[lane] = lanes.least_negated[lane] = lanes.least_magnitudes[lane] = __builtin_inf();
    for (std::uint32_t at = lane; at < chunk_values; at += sum_lanes) {
      if (!counts(at)) continue;
      const double value = values[at];
      const double magnitude = __builtin_fabs(value);
      lanes.sums[lane] += value;
      lanes.magnitudes[lane] += magnitude;
      if (value < lanes.least[lane]) lanes.least[lane] = value;
      if (-value < lanes.least_negated[lane]) lanes.least_negated[lane] = -value;
      if (stored[at] != 0 && magnitude < lanes.least_magnitudes[lane]) lanes.least_magnitudes[lane] = magnitude;
    }
  }
}

template <class Counts>
inline double squares_of_some(const double* values, const Counts& counts, double mean) {
  double lanes[sum_lanes] = {};
  for (std::uint32_t at = 0; at < chunk_values; ++at) {
    const double difference = values[at] - mean;
    if (counts(at)) lanes[at % sum_lanes] += difference * difference;
  }
  return tree_of(lanes);
}

/// The means, and the extremes.
inline void put_together(ChunkLanes& lanes, ChunkSeen& seen) {
  const double kept = seen.kept;
  seen.mean = tree_of(lanes.sums) / kept;
  seen.mean_abs = tree_of(lanes.magnitudes) / kept;
  seen.min = least_of(lanes.least);
  seen.max = -least_of(lanes.least_negated) + 0.0;
  seen.min_abs = least_of(lanes.least_magnitudes);
}

template <class Holds>
inline std::uint32_t count_where(const Holds& holds) {
  std::uint64_t count = 0;
  for (std::uint32_t i = 0; i < chunk_values; ++i) count += holds(i) ? 1 : 0;
  return static_cast<std::uint32_t>(count);
}

inline bool is_number(double value) {
  return __builtin_fabs(value) <= __DBL_MAX__;
}

inline void summarise_chunk(const double* stored, std::uint32_t count, const ChunkScale& scale, ChunkSeen& seen) {
  alignas(64) double values[chunk_values];
  ChunkLanes lanes;
  const auto unscaled = [=](double value) {
    return (scale.inverse == 0 ? value / scale.scale : value * scale.inverse) + 0.0;  // there is one zero
  };
  const std::uint32_t others = count_where([=](std::uint32_t i) { return !is_number(stored[i]); });
  seen.nans = others == 0 ? 0 : count_where([=](std::uint32_t i) { return stored[i] != stored[i]; });
  seen.infinities = others - seen.nans;
  seen.zeros = count_where([=](std::uint32_t i) { return stored[i] == 0; });
  seen.subnormals =
      count_where([=](std::uint32_t i) { return __builtin_fabs(stored[i]) < scale.smallest_normal; }) - seen.zeros;
  seen.zeros -= chunk_values - count;
  seen.kept = count - others;
  if (others == 0 && count == chunk_values) {
    for (std::uint32_t i = 0; i < chunk_values; ++i) values[i] = unscaled(stored[i]);
    sum_whole(stored, values, lanes);
    put_together(lanes, seen);
    seen.squares_about_mean = squares_of_whole(values, seen.mean);
  } else {
    const auto counts = [=](std::uint32_t i) { return i < count && is_number(stored[i]); };
    for (std::uint32_t i = 0; i < chunk_values; ++i) values[i] = counts(i) ? unscaled(stored[i]) : 0;
    if (count != others) {
      sum_some(stored, values, counts, lanes);
      put_together(lanes, seen);
      seen.squares_about_mean = squares_of_some(values, counts, seen.mean);
    }
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint64_t bits;
    __builtin_memcpy(&bits, &values[i], sizeof bits);
    ++seen.exponents[i % ChunkSeen::tables][bits >> 52 & 0x7ff];
  }
}

}  // namespace tare::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
