// Whether a series rises: by ranks and medians, which single outliers do not move.
#pragma once

#include <cstdint>
#include <span>

namespace tare::monitor {

struct TrendPoint {
  std::int64_t step = 0;
  double value = 0;
};

struct Trend {
  double slope = 0;       ///< Theil and Sen's: the median of the slopes between all pairs of points, in a step
  double confidence = 0;  ///< that it rises: Mann and Kendall's test, one-sided, with its correction for ties
};

/// So many points at least, below which the test's normal approximation does not hold; `Trend{}` for fewer.
inline constexpr std::size_t least_trend_points = 10;

/// Of points in the order of their steps, no two of one step. Takes the square of their number in time and memory.
Trend trend_of(std::span<const TrendPoint> points);

}  // namespace tare::monitor
