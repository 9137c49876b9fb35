// What the finite values of a tensor are like where others are not finite.
#pragma once

#include <cstdint>

#include "kernels/statistics.hpp"

namespace tare::kernels {

/// As the values were read, before any scaling. `FiniteValues{}` is that of no values.
struct FiniteValues {
  std::uint64_t nans = 0;
  std::uint64_t infinities = 0;
  double max_abs = 0;         ///< of the finite ones
  double sum_of_squares = 0;  ///< likewise
};

/// Adds what was found in more values. Exact but for the rounding of the sum.
inline void merge(FiniteValues& into, const FiniteValues& more) {
  into.nans += more.nans;
  into.infinities += more.infinities;
  if (more.max_abs > into.max_abs) into.max_abs = more.max_abs;
  into.sum_of_squares += more.sum_of_squares;
}

}  // namespace tare::kernels
