// What a tensor's values are like: finite ones counted and summed, the others counted beside them. For host and device.
#pragma once

#include <cstdint>

#include "kernels/dtype.hpp"
#include "kernels/host_device.hpp"

namespace tare::kernels {

/// How many magnitudes have which exponent: a bin for each power of two from 2^lowest on, and one at either end.
struct ExponentHistogram {
  static constexpr int lowest = -48;  ///< an f16's smallest subnormal, 2^-24, as it was before a loss scale of 2^24
  static constexpr int bin_count = 64;

  std::uint64_t bins[bin_count] = {};
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
  double min = __builtin_inf();
  double max = -__builtin_inf();
  double max_abs = 0;
  double min_abs = __builtin_inf();  ///< the least that is not zero
  double mean = 0;
  double mean_abs = 0;
  double squares_about_mean = 0;  ///< the sum of (x - mean)^2
  double scale = 1;               ///< that the values bear, as they lie there
  ExponentHistogram exponents;

  [[nodiscard]] TARE_HD std::uint64_t finite() const { return count - nans - infinities; }
};

/// The finite values of a part: where they lie, and how they spread.
struct Moments {
  double count = 0;
  double mean = 0;
  double mean_abs = 0;
  double squares_about_mean = 0;
  double min = __builtin_inf();
  double max = -__builtin_inf();
  double min_abs = __builtin_inf();
};

/// Adds those of another part, by Chan's rule: right even where values lie far from zero.
TARE_HD inline void merge(Moments& into, const Moments& more) {
  if (more.count == 0) return;
  if (into.count == 0) {
    into = more;
    return;
  }
  const double all = into.count + more.count;
  const double share = more.count / all;
  const double difference = more.mean - into.mean;
  into.squares_about_mean += more.squares_about_mean + difference * difference * (into.count * share);
  into.mean += difference * share;
  into.mean_abs += (more.mean_abs - into.mean_abs) * share;
  into.count = all;
  into.min = into.min < more.min ? into.min : more.min;
  into.max = into.max > more.max ? into.max : more.max;
  into.min_abs = into.min_abs < more.min_abs ? into.min_abs : more.min_abs;
}

/// How values lose the loss scale that they bear: divided, or multiplied where that is the same to the bit.
struct Unscaling {
  double scale = 1;
  double inverse = 1;  ///< 0: divide

  Unscaling() = default;
  TARE_HD explicit Unscaling(double by) : scale(by) {
    const std::uint64_t exponent = bits_of(by) >> 52;
    const bool is_power_of_two = bits_of(by) << 12 == 0 && exponent > 0 && exponent < 2046;
    inverse = is_power_of_two ? 1 / by : 0;
  }
  TARE_HD double of(double value) const { return inverse == 0 ? value / scale : value * inverse; }
};

/// A loss scale that values bear: known, or where it lies in the memory of a GPU.
struct BorneScale {
  double known = 1;
  const float* place = nullptr;
};

}  // namespace tare::kernels
