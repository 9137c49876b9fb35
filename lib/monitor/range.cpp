#include "lib/monitor/range.hpp"

#include <algorithm>
#include <cmath>

namespace tare::monitor {
namespace {

constexpr double f16_bottom = 0x1p-24;

double lost_values(const kernels::Statistics& seen, double threshold) {
  const auto zeros = static_cast<double>(seen.zeros);
  const auto below = static_cast<double>(seen.below);
  if (threshold <= f16_bottom) return zeros + below;
  const double nonzero = static_cast<double>(seen.count) - zeros;
  return below == nonzero ? zeros : std::min(zeros, below * nonzero / (nonzero - below));
}

}  // namespace

std::optional<double> lost_share(const kernels::Statistics& seen, double threshold, Format format) {
  if (!is_finite(seen.max_abs) || seen.zeros == seen.count) return {};
  if (format == Format::bf16) return 0;
  return lost_values(seen, threshold) / static_cast<double>(seen.count);
}

std::optional<double> headroom_bits(double max_abs, Format format) {
  if (!is_finite(max_abs) || max_abs == 0) return {};
  constexpr double largest_f16 = 65504, largest_bf16 = 0x1.fep127;
  return std::log2((format == Format::f16 ? largest_f16 : largest_bf16) / max_abs);
}

}  // namespace tare::monitor
