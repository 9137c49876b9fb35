#include "lib/monitor/at_scale.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tare::monitor {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Magnitudes at which something else becomes of a value.
struct Edges {
  Dtype format;
  double zero;  ///< the greatest that becomes zero: half of the smallest subnormal number
  double
      normal;  ///< the least that becomes normal: half a subnormal step below the smallest normal number, which is even
  double beyond;  ///< the least that is rounded beyond the largest
};

constexpr auto edge_table = std::to_array<Edges>({
    {Dtype::f16, 0x1p-25, 0x1.ffcp-15, 65520},
    {Dtype::bf16, 0x1p-134, 0x1.fep-127, 0x1.ffp127},
    {Dtype::f8_e5m2, 0x1p-17, 0x1.cp-15, 61440},
    {Dtype::f8_e4m3fn, 0x1p-10, 0x1.ep-7, 0x1.d000000000001p8},  // 464 itself is rounded to 448, which is even
});

/// Magnitudes of one bin: from `low` on, below `high`.
struct Bin {
  double low;
  double high;
  std::uint64_t count;
};

/// Those from `from` on and below `to`.
void add_bin(Bounds& bounds, const Bin& bin, double from, double to) {
  const bool all_are_in = bin.low >= from && bin.high <= to;
  const bool some_may_be = bin.low < to && bin.high > from;
  if (all_are_in) bounds.least += bin.count;
  if (some_may_be) bounds.most += bin.count;
}

Bounds count_within(const Summary& summary, double from, double to) {
  constexpr int end = ExponentHistogram::lowest + ExponentHistogram::bin_count;
  const ExponentHistogram& exponents = summary.exponents;
  const double past_greatest = std::nextafter(summary.max_abs, infinity);
  Bounds bounds;
  const auto add = [&](double low, double high, std::uint64_t count) {
    add_bin(bounds, {std::max(low, summary.min_abs), std::min(high, past_greatest), count}, from, to);
  };
  add(0, std::ldexp(1.0, ExponentHistogram::lowest), exponents.below);
  for (int exponent = ExponentHistogram::lowest; exponent < end; ++exponent) {
    const auto bin = static_cast<std::size_t>(exponent - ExponentHistogram::lowest);
    add(std::ldexp(1.0, exponent), std::ldexp(1.0, exponent + 1), exponents.bins[bin]);
  }
  add(std::ldexp(1.0, end), infinity, exponents.above);
  return bounds;
}

}  // namespace

AtScale at_scale(const Summary& summary, double scale, Dtype format) {
  const Edges& edges = *std::ranges::find(edge_table, format, &Edges::format);
  const double past_zero = std::nextafter(edges.zero / scale, infinity);
  return {count_within(summary, 0, past_zero), count_within(summary, past_zero, edges.normal / scale),
          count_within(summary, edges.beyond / scale, infinity)};
}

std::optional<Dtype> find_narrow_format(std::string_view name) {
  for (const Edges& edges : edge_table) {
    if (name == name_of(edges.format)) return edges.format;
  }
  return {};
}

}  // namespace tare::monitor
