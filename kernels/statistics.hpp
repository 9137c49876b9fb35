// What a pass finds, and how two findings become one: for host and device.
#pragma once

#include <cstdint>

#include "kernels/dtype.hpp"
#include "kernels/host_device.hpp"

namespace tare::kernels {

/// What one pass found in the values as they were read, before any scaling. `Statistics{}` is that of no values.
struct Statistics {
  double max_abs = 0;  ///< greatest magnitude; infinite or NaN (the positive quiet one) if any value is, NaN first
  double sum_of_squares = 0;  ///< NaN where max_abs is NaN; f32 and narrower cannot overflow it
  std::uint64_t count = 0;
  std::uint64_t zeros = 0;  ///< of either sign
  std::uint64_t below = 0;  ///< values that are not zero and of a magnitude below Findings::threshold
};

/// Adds what was found in more values: `into` then describes both. Exact but for the rounding of the sum.
TARE_HD inline void merge(Statistics& into, const Statistics& more) {
  // As integers: NaN above infinity above the rest, whichever comes first.
  if (bits_of(more.max_abs) > bits_of(into.max_abs)) into.max_abs = more.max_abs;
  into.sum_of_squares += more.sum_of_squares;
  if (is_nan(into.max_abs)) into.sum_of_squares = into.max_abs;  // one NaN, of the same bits on every machine
  into.count += more.count;
  into.zeros += more.zeros;
  into.below += more.below;
}

}  // namespace tare::kernels
