// FP8-LM's automatic scaling of gradients, "FP8-LM: Training FP8 Large Language Models" (arXiv 2310.18313), 2.1. Its
// code was never published (MS-AMP has a fixed factor instead): this is the paper's text. One mu for each slot;
// gradients are multiplied by it before they become fp8.
//
//   values that reach the largest of the format | mu, continuous                | mu, stepped
//   more than the threshold (0.001 %)           | half                          | half, and the steps count anew
//   fewer                                       | times 2^(1 / 1000): twice as  | times 2^1 or 2^2 after 1,000 such
//                                               | much in 1,000 steps           | steps in a row
//   nothing was seen                            | same                          | same
//
// That mu doubles over 1,000 steps can be read both ways. Which values reach the largest is as open: those at it and
// beyond, or, with `above`, those beyond alone.
//
// mu is a double, so that a thousand growths lose nothing; it stays where it and its inverse are normal floats, which
// the paper leaves open.
#pragma once

#include <cstdint>

#include "kernels/dtype.hpp"
#include "kernels/host_device.hpp"

namespace tare::kernels::fp8 {

inline constexpr double least_mu = 0x1p-126;
inline constexpr double most_mu = 0x1p126;

struct Fp8LmParams {
  double growth = 1.0006933874625807;  ///< 2^(1 / 1000); stepped: 2 or 4
  double threshold = 1e-5;             ///< a fraction of the values
  std::uint32_t growth_steps = 1;      ///< clean steps in a row that a growth takes
  std::uint32_t above = 0;             ///< 1: the largest itself is not among those that are counted
};

/// The least number that counts as one that reaches the largest of the format.
TARE_HD inline float counted_from(const Fp8LmParams& params, float largest) {
  return float_from(bits_of(largest) + params.above);
}

/// `clean`: the clean steps in a row, counted on.
TARE_HD inline double next_mu(const Fp8LmParams& params, double mu, std::uint64_t seen, std::uint64_t at_largest,
                              std::uint32_t& clean) {
  if (seen == 0) return mu;
  const bool crowded = static_cast<double>(at_largest) > params.threshold * static_cast<double>(seen);
  clean = crowded ? 0 : clean + 1;
  const bool grows = clean >= params.growth_steps;
  if (grows) clean = 0;
  const double next = crowded ? mu * 0.5 : grows ? mu * params.growth : mu;
  if (next < least_mu) return least_mu;
  return next > most_mu ? most_mu : next;
}

}  // namespace tare::kernels::fp8
