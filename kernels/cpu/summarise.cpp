// The sums of kernels/summarise.hpp, in its order: those of a chunk's lanes, then a tree. Loops over a chunk do one
// thing each, so that the compiler makes vectors of them; exponents are counted alone, and become bins at the end.
#include "kernels/cpu/summarise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/summarise.hpp"

namespace tare::kernels::cpu {
namespace {

using cuda::chunk_elements;
using cuda::PerLane;
using cuda::SummaryCounts;
using cuda::warp_lanes;

constexpr double infinity = std::numeric_limits<double>::infinity();

using Chunk = std::array<double, chunk_elements>;

constexpr double smallest_normal(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return 0x1p-1022;
    case Dtype::f32:
    case Dtype::bf16:
      return 0x1p-126;
    case Dtype::f8_e4m3fn:
      return 0x1p-6;
    case Dtype::f16:
    case Dtype::f8_e5m2:
      break;
  }
  return 0x1p-14;
}

/// Folds each lane's terms, a few lanes at once, in registers.
template <class Term, class Fold>
std::array<double, warp_lanes> folded(double from, const Term& term, const Fold& fold) {
  constexpr std::size_t together = 8;
  std::array<double, warp_lanes> lanes;
  for (std::size_t first = 0; first < warp_lanes; first += together) {
    std::array<double, together> some;
    some.fill(from);
    for (std::size_t row = first; row < chunk_elements; row += warp_lanes) {
      for (std::size_t k = 0; k < together; ++k) some[k] = fold(some[k], term(row + k));
    }
    std::ranges::copy(some, lanes.begin() + static_cast<std::ptrdiff_t>(first));
  }
  return lanes;
}

/// As a warp's exchanges add them.
double tree_of(std::array<double, warp_lanes> lanes) {
  for (std::size_t mask = 1; mask < warp_lanes; mask *= 2) {
    for (std::size_t i = 0; i < warp_lanes; i += 2 * mask) lanes[i] += lanes[i + mask];
  }
  return lanes[0];
}

template <class Term>
double sum_of(const Term& term) {
  return tree_of(folded(0, term, [](double sum, double more) { return sum + more; }));
}

template <class Term>
double least_of(const Term& term) {
  const auto least_of_both = [](double least, double other) { return other < least ? other : least; };
  return std::ranges::min(folded(infinity, term, least_of_both));
}

/// Of a chunk.
template <class Holds>
std::uint64_t count_if(const Holds& holds) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < chunk_elements; ++i) count += holds(i) ? 1 : 0;
  return count;
}

class Summing {
 public:
  explicit Summing(double scale) : unscaling_(scale) {}

  /// `stored`: as the values lie there, and zeros behind `count` of them.
  template <Dtype Id>
  Moments take(const Chunk& stored, std::uint32_t count) {
    const std::uint64_t others = count_others(stored);
    count_finite<Id>(stored, chunk_elements - count);
    const bool is_whole = others == 0 && count == chunk_elements;
    Moments moments;
    moments.count = static_cast<double>(count - others);
    if (is_whole) {
      for (std::size_t i = 0; i < chunk_elements; ++i) values_[i] = unscaling_.of(stored[i]) + 0.0;
      add(
          stored, [](std::size_t) { return true; }, moments);
    } else {
      const auto counts = [&](std::size_t i) { return i < count && is_finite(stored[i]); };
      for (std::size_t i = 0; i < chunk_elements; ++i) values_[i] = counts(i) ? unscaling_.of(stored[i]) + 0.0 : 0.0;
      if (count != others) add(stored, counts, moments);
    }
    for (std::uint32_t i = 0; i < count; ++i) ++exponents_[i % tables][bits_of(values_[i]) >> 52 & 0x7ff];
    return moments;
  }

  /// Everything but the moments.
  void count_into(SummaryCounts& counts) const {
    counts.nans = nans_;
    counts.infinities = infinities_;
    counts.subnormals = subnormals_;
    for (const auto& table : exponents_) {
      for (std::size_t exponent = 0; exponent < table.size(); ++exponent) {
        counts.rows[cuda::row_of(double_from(std::uint64_t{exponent} << 52))] += table[exponent];
      }
    }
    counts.rows[SummaryCounts::below] -= zeros_ + nans_ + infinities_;  // in whose places zeros stood
    counts.rows[SummaryCounts::zero] = zeros_;
  }

 private:
  std::uint64_t count_others(const Chunk& stored) {
    const std::uint64_t others = count_if([&](std::size_t i) { return !is_finite(stored[i]); });
    if (others == 0) return 0;
    const std::uint64_t nans = count_if([&](std::size_t i) { return is_nan(stored[i]); });
    nans_ += nans;
    infinities_ += others - nans;
    return others;
  }

  template <Dtype Id>
  void count_finite(const Chunk& stored, std::uint64_t padding) {
    const std::uint64_t zeros = count_if([&](std::size_t i) { return stored[i] == 0; });
    zeros_ += zeros - padding;
    subnormals_ += count_if([&](std::size_t i) { return std::fabs(stored[i]) < smallest_normal(Id); }) - zeros;
  }

  /// Values that do not count are 0.
  template <class Counts>
  void add(const Chunk& stored, const Counts& counts, Moments& moments) const {
    moments.mean = sum_of([&](std::size_t i) { return values_[i]; }) / moments.count;
    moments.mean_abs = sum_of([&](std::size_t i) { return std::fabs(values_[i]); }) / moments.count;
    moments.squares_about_mean = sum_of([&](std::size_t i) {
      const double difference = values_[i] - moments.mean;
      return counts(i) ? difference * difference : 0;
    });
    moments.min = least_of([&](std::size_t i) { return counts(i) ? values_[i] : infinity; });
    moments.max = -least_of([&](std::size_t i) { return counts(i) ? -values_[i] : infinity; }) + 0.0;
    moments.min_abs =
        least_of([&](std::size_t i) { return counts(i) && stored[i] != 0 ? std::fabs(values_[i]) : infinity; });
  }

  /// Exponents repeat: what stands in one table need not wait for the last one counted.
  static constexpr std::size_t tables = 4;

  Unscaling unscaling_;
  Chunk values_;
  std::array<std::array<std::uint64_t, 2048>, tables> exponents_{};
  std::uint64_t nans_ = 0;
  std::uint64_t infinities_ = 0;
  std::uint64_t zeros_ = 0;
  std::uint64_t subnormals_ = 0;
};

template <class E>
Summary summarise_as(const Tensor& tensor, double scale) {
  const auto* bits = static_cast<const typename E::Bits*>(tensor.data);
  Summing summing(scale);
  PerLane<Moments> chains;
  Chunk stored;
  for (std::uint64_t first = 0; first < tensor.count; first += cuda::summary_piece) {
    const std::uint64_t end = std::min(tensor.count, first + cuda::summary_piece);
    Moments piece;
    for (std::uint64_t from = first; from < end; from += chunk_elements) {
      const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(end - from, chunk_elements));
      if (count < chunk_elements) stored.fill(0);
      for (std::uint32_t i = 0; i < count; ++i) stored[i] = static_cast<double>(cuda::stored_value<E>(bits[from + i]));
      merge(piece, summing.take<E::dtype>(stored, count));
    }
    merge(chains.value[first / cuda::summary_piece % warp_lanes], piece);
  }
  merge_chains(chains);
  SummaryCounts counts{};
  summing.count_into(counts);
  Summary summary;
  finish_summary(summary, {nullptr, tensor.count, static_cast<std::int32_t>(tensor.dtype)}, chains.value[0], counts,
                 scale);
  std::copy_n(counts.rows + SummaryCounts::first_bin, ExponentHistogram::bin_count, summary.exponents.bins);
  return summary;
}

}  // namespace

Summary summarise(const Tensor& tensor, double scale) {
  switch (tensor.dtype) {
    case Dtype::f32:
      return summarise_as<cuda::Element<Dtype::f32>>(tensor, scale);
    case Dtype::f64:
      return summarise_as<cuda::Element<Dtype::f64>>(tensor, scale);
    case Dtype::f16:
      return summarise_as<cuda::Element<Dtype::f16>>(tensor, scale);
    case Dtype::bf16:
      return summarise_as<cuda::Element<Dtype::bf16>>(tensor, scale);
    case Dtype::f8_e4m3fn:
      return summarise_as<cuda::Element<Dtype::f8_e4m3fn>>(tensor, scale);
    case Dtype::f8_e5m2:
      return summarise_as<cuda::Element<Dtype::f8_e5m2>>(tensor, scale);
  }
  return {};
}

}  // namespace tare::kernels::cpu
