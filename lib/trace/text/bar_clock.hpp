// Bars that name no epoch: one that came to its end and begins again is the next epoch's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace tare {

class BarClock {
 public:
  /// The run's number of what is the `step`th of `total`; nothing where a bar that was broken off begins again behind
  /// other epochs: in which one the run was resumed, it does not tell.
  std::optional<std::int64_t> number(std::int64_t step, std::int64_t total) {
    has_begun_anew_ = false;
    if (last_ && step < *last_) {
      if (has_ended(total) && is_begin(step, total)) {
        is_lost_ = is_lost_ || __builtin_add_overflow(before_, total, &before_);
      } else {
        is_lost_ = is_lost_ || before_ > 0;
        has_begun_anew_ = is_lost_ && is_begin(step, total);
      }
    }
    if (last_ && step > *last_) apart_ = step - *last_;
    last_ = step;
    std::int64_t number = 0;
    return is_lost_ || __builtin_add_overflow(before_, step, &number) ? std::nullopt : std::optional(number);
  }

  /// Whether the last step began a bar behind one that was broken off, and its number does not show it.
  [[nodiscard]] bool has_begun_anew() const { return has_begun_anew_; }

 private:
  static constexpr std::int64_t least_told = 10;  ///< of a bar

  /// Of 100 that are told by tens the last may be the 90th, and the 99th where they count from 0.
  [[nodiscard]] bool has_ended(std::int64_t total) const {
    return *last_ >= total || (apart_ <= total / least_told && *last_ >= total - apart_);
  }

  /// A run that is resumed near its end begins there.
  [[nodiscard]] bool is_begin(std::int64_t step, std::int64_t total) const {
    return step <= std::max({std::int64_t{1}, apart_, total / least_told});
  }

  std::int64_t before_ = 0, apart_ = 0;
  std::optional<std::int64_t> last_;
  bool is_lost_ = false, has_begun_anew_ = false;
};

}  // namespace tare
