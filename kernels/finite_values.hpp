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
TARE_HD inline void merge(FiniteValues& into, const FiniteValues& more) {
  into.nans += more.nans;
  into.infinities += more.infinities;
  if (more.max_abs > into.max_abs) into.max_abs = more.max_abs;
  into.sum_of_squares += more.sum_of_squares;
}

/// A tensor's: where all is finite, what the pass found of it; else its pieces', in their order. `piece_at` gives a
/// piece's by its number.
template <class PieceAt>
TARE_HD inline FiniteValues finite_of(const Statistics& all, std::uint32_t pieces, const PieceAt& piece_at) {
  if (is_finite(all.max_abs)) return {0, 0, all.max_abs, all.sum_of_squares};
  FiniteValues finite;
  for (std::uint32_t i = 0; i < pieces; ++i) merge(finite, piece_at(i));
  return finite;
}

}  // namespace tare::kernels
