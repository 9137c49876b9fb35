// What ranks tell one another of a pass or a report, for host and device: the greatest of each word and the sum of each
// number are those of all ranks.
#pragma once

#include "kernels/statistics.hpp"

namespace tare::kernels {

/// In what ranks must agree. Of each such word the greatest is formed, and of its complement: so all see the least,
/// too.
enum class Agreement : std::int32_t { call, step, scale, values };
inline constexpr std::int32_t agreements = 4;

/// Bits of magnitudes order as the magnitudes do, nan above infinity. Counts are exact up to 2^53. No number is
/// negative: as words, their greatest is that of the greatest number.
struct RankRecord {
  std::uint64_t max_abs;
  std::uint64_t found_inf;
  struct {
    std::uint64_t word;
    std::uint64_t complement;
  } agreed[agreements];
  double sums[4];  ///< of squares, and of counts: values, zeros, below
};
inline constexpr std::uint64_t record_words = 2 + 2 * agreements;
inline constexpr std::uint64_t record_numbers = 4;

/// `call`: a TARE_BACKEND_OBSERVE ..., 0 a report; `steps` and `scale`: of the rule, before; `values`: how many all
/// ranks must have seen, 0 where each has its own.
TARE_HD inline RankRecord record_of(std::int32_t call, std::int64_t steps, double scale, std::uint64_t values,
                                    const Statistics& seen, bool found_inf) {
  const std::uint64_t words[agreements] = {static_cast<std::uint64_t>(call), static_cast<std::uint64_t>(steps),
                                           bits_of(scale), values};
  RankRecord record;
  record.max_abs = bits_of(seen.max_abs);
  record.found_inf = found_inf ? 1 : 0;
  for (std::int32_t i = 0; i < agreements; ++i) record.agreed[i] = {words[i], ~words[i]};
  record.sums[0] = seen.sum_of_squares;
  record.sums[1] = static_cast<double>(seen.count);
  record.sums[2] = static_cast<double>(seen.zeros);
  record.sums[3] = static_cast<double>(seen.below);
  return record;
}

/// Where ranks were not at the same.
struct Parting {
  std::int32_t is = 0;  ///< whether they were not
  Agreement in = Agreement::call;
  std::uint64_t least = 0;
  std::uint64_t greatest = 0;
  std::uint64_t here = 0;
};

/// The first, of this rank's record and all ranks'.
TARE_HD inline Parting parting_in(const RankRecord& own, const RankRecord& all) {
  for (std::int32_t i = 0; i < agreements; ++i) {
    const std::uint64_t least = ~all.agreed[i].complement;
    if (least == all.agreed[i].word) continue;
    return {1, static_cast<Agreement>(i), least, all.agreed[i].word, own.agreed[i].word};
  }
  return {};
}

TARE_HD inline Statistics statistics_in(const RankRecord& all) {
  Statistics seen;
  seen.max_abs = double_from(all.max_abs);
  seen.sum_of_squares = is_nan(seen.max_abs) ? seen.max_abs : all.sums[0];  // the nan that a single process has
  seen.count = static_cast<std::uint64_t>(all.sums[1]);
  seen.zeros = static_cast<std::uint64_t>(all.sums[2]);
  seen.below = static_cast<std::uint64_t>(all.sums[3]);
  return seen;
}

}  // namespace tare::kernels
