// Whether steps beside an epoch count within it or through the run: the first line of another epoch tells.
#pragma once

#include <cstdint>
#include <optional>

namespace tare {

class EpochClock {
 public:
  /// The run's number of `step`, as far as it is told; `per_epoch`: how many an epoch has, if they count within it.
  std::optional<std::int64_t> number(std::int64_t epoch, std::int64_t step, std::optional<std::int64_t> per_epoch) {
    if (!last_epoch_) first_epoch_ = epoch;
    // What was saved in an epoch and is gone on with comes again in the same one, or an earlier one.
    has_fallen_ = last_epoch_ && epoch < *last_epoch_;
    counts_within_ = counts_within_ || (last_epoch_ && epoch > *last_epoch_ && step <= last_step_);
    last_epoch_ = epoch;
    last_step_ = step;
    if (!counts_within_) return step;
    std::int64_t number = 0;
    const bool is_beyond = !per_epoch || __builtin_mul_overflow(epoch - first_epoch_, *per_epoch, &number) ||
                           __builtin_add_overflow(number, step, &number);
    return is_beyond ? std::nullopt : std::optional(number);
  }

  /// Whether the last line is of an earlier epoch than the one before it: the run was resumed.
  [[nodiscard]] bool has_fallen() const { return has_fallen_; }

 private:
  std::int64_t first_epoch_ = 0, last_step_ = 0;
  std::optional<std::int64_t> last_epoch_;
  bool counts_within_ = false, has_fallen_ = false;
};

}  // namespace tare
