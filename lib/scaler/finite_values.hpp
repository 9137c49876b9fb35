// What the finite values of a tensor are like where others are not finite: looked at behind a pass, whose own numbers
// then tell no more than that there is one.
#pragma once

#include <cstdint>

#include "kernels/launch.hpp"

namespace tare {

struct FiniteValues {
  std::uint64_t nans = 0;
  std::uint64_t infinities = 0;
  double max_abs = 0;  ///< of the finite ones, and so is the next
  double sum_of_squares = 0;
};

/// Of each value times `factor`. REQUIRES: a dtype that is known, memory of the host.
FiniteValues finite_values(const kernels::Tensor& tensor, double factor);

/// Of a tensor of which a pass found that all values are finite.
FiniteValues all_finite(const kernels::Statistics& seen);

/// Adds what was found in more values.
void merge(FiniteValues& into, const FiniteValues& more);

}  // namespace tare
