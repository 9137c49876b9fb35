// What a tensor's values are like: finite ones counted and summed, the others counted beside them.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "kernels/launch.hpp"

namespace tare::monitor {

/// How many magnitudes have which exponent: a bin for each power of two from 2^lowest on, and one at either end.
struct ExponentHistogram {
  static constexpr int lowest = -48;  ///< an f16's smallest subnormal, 2^-24, as it was before a loss scale of 2^24
  static constexpr int bin_count = 64;

  std::array<std::uint64_t, bin_count> bins{};
  std::uint64_t below = 0;  ///< not zero, and below 2^lowest
  std::uint64_t above = 0;  ///< 2^(lowest + bin_count) or more, and finite

  bool operator==(const ExponentHistogram&) const = default;
};

/// `Summary{}` is that of no values. All but the counts of nan and infinity is of the finite values alone, and all but
/// `subnormals` of the values without the loss scale that they bear.
struct Summary {
  std::uint64_t count = 0;  ///< of all values
  std::uint64_t nans = 0;
  std::uint64_t infinities = 0;
  std::uint64_t zeros = 0;       ///< of either sign
  std::uint64_t subnormals = 0;  ///< not zero, and below the smallest normal number of the dtype
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double max_abs = 0;
  double min_abs = std::numeric_limits<double>::infinity();  ///< the least that is not zero
  double mean = 0;
  double mean_abs = 0;
  double squares_about_mean = 0;  ///< the sum of (x - mean)^2
  double scale = 1;               ///< that the values bear, as they lie there
  ExponentHistogram exponents;

  [[nodiscard]] std::uint64_t finite() const { return count - nans - infinities; }
  /// Of the whole population, as numpy's std(): 0 where nothing is finite.
  [[nodiscard]] double deviation() const;
  [[nodiscard]] double norm() const;
};

/// REQUIRES: a dtype that is known, memory of the host; a scale that is finite and above 0.
Summary summary_of(const kernels::Tensor& tensor, double scale = 1);

}  // namespace tare::monitor
