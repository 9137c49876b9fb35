// FP8-LM's automatic scaling of gradients, "FP8-LM: Training FP8 Large Language Models" (arXiv 2310.18313), 2.1. Its
// code was never published (MS-AMP has a fixed factor instead): this is the paper's text. One mu for each slot;
// gradients are multiplied by it before they become fp8.
//
//   values that reach the largest of the format | mu
//   more than the threshold (0.001 %)           | half
//   fewer                                       | times 2^(1 / 1000): twice as much in 1,000 steps
//   nothing was seen                            | same
//
// mu is a double, so that a thousand growths lose nothing; it stays where it and its inverse are normal floats, which
// the paper leaves open.
#pragma once

#include <cstdint>

#include "kernels/host_device.hpp"

namespace tare::kernels::fp8 {

inline constexpr double least_mu = 0x1p-126;
inline constexpr double most_mu = 0x1p126;

struct Fp8LmParams {
  double growth = 1.0006933874625807;  ///< 2^(1 / 1000)
  double threshold = 1e-5;             ///< a fraction of the values
};

TARE_HD inline double next_mu(const Fp8LmParams& params, double mu, std::uint64_t seen, std::uint64_t at_largest) {
  if (seen == 0) return mu;
  const bool crowded = static_cast<double>(at_largest) > params.threshold * static_cast<double>(seen);
  const double next = crowded ? mu * 0.5 : mu * params.growth;
  if (next < least_mu) return least_mu;
  return next > most_mu ? most_mu : next;
}

}  // namespace tare::kernels::fp8
