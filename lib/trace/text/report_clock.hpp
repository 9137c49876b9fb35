// How many steps a report covers that comes every so many steps, at the multiples of that number.
#pragma once

#include <cstdint>
#include <numeric>

namespace tare {

class ReportClock {
 public:
  explicit ReportClock(bool is_paced = true) : is_paced_(is_paced) {}

  /// Whether it is known how often reports come.
  [[nodiscard]] bool is_known() const { return every_ != 0; }

  /// Of the first report of a segment, when the next one is at `next`.
  std::uint64_t span_of_first(std::int64_t first, std::int64_t next) {
    const std::int64_t apart = next - first;
    if (!is_paced_) return static_cast<std::uint64_t>(first <= apart ? first : apart);
    if (is_early(first, next)) {
      every_ = apart + 1;
      return 1;
    }
    every_ = std::gcd(first, next);
    return every_ == 0 ? 1 : static_cast<std::uint64_t>(every_);
  }

  /// Of the first report of a segment, by those of the one before. REQUIRES: is_known().
  std::uint64_t span_of_first(std::int64_t first) const {
    return first % every_ == 0 ? static_cast<std::uint64_t>(every_) : 1;
  }

  /// Of one that comes behind another at `last`.
  std::uint64_t span_behind(std::int64_t last, std::int64_t step) {
    if (!is_paced_) return static_cast<std::uint64_t>(step - last);
    if (every_ == 0) return span_of_first(last, step), span_behind(last, step);
    if (step % every_ != 0) every_ = std::gcd(every_, step);
    return static_cast<std::uint64_t>(every_);
  }

 private:
  /// Megatron of 2026 reports the first iteration at once, and counts it again in the next report.
  static bool is_early(std::int64_t first, std::int64_t next) {
    const std::int64_t every = next - first + 1;
    return every > 2 && next % every == 0;
  }

  bool is_paced_;
  std::int64_t every_ = 0;
};

}  // namespace tare
