// A column whose name may be of anything: of a loss scale, of a model's own, of an image's size.
#pragma once

#include <cmath>

#include "lib/trace/text/doubtful_scale.hpp"

namespace tare {

class DoubtfulColumn {
 public:
  /// Whether `value`, the next one, could be told, if the column is a scale. Of one that begins as a loss scale does,
  /// what fits none is left out: means.
  bool may_have(double value) {
    if (!has_begun_) begin(value);
    const double power = of_digits(fewest_digits, value);
    if (begins_as_scale_) return may_go_on_as_scale(power);
    if (!std::isfinite(value) || std::abs(value) < least_told) return true;
    has_other_ = has_other_ || !is_power_of_two(power);
    has_moved_ = has_moved_ || value != last_;
    moves_otherwise_ = moves_otherwise_ || (value != last_ && !is_backoff_or_growth(value / last_));
    last_ = value;
    return true;
  }

  [[nodiscard]] bool begins_as_scale() const { return begins_as_scale_; }
  /// A model's own goes another way: 14.28, 13.86 ... 100.
  [[nodiscard]] bool is_scale() const {
    return begins_as_scale_ || (has_begun_ && !has_other_) || (has_moved_ && !moves_otherwise_);
  }

 private:
  void begin(double value) {
    if (!std::isfinite(value) || value == 0) return;
    has_begun_ = true;
    const double power = of_digits(fewest_digits, value);
    begins_as_scale_ = may_begin_as_scale(power);
    has_other_ = std::abs(value) < least_told && !is_power_of_two(power);
    last_ = value;
  }

  /// By one or several factors of two: not every step need be told.
  static bool is_backoff_or_growth(double ratio) {
    constexpr double most_off = 0.01;
    const double octaves = std::round(std::log2(ratio));
    return octaves != 0 && std::abs(ratio / std::exp2(octaves) - 1) <= most_off;
  }

  static constexpr int fewest_digits = 3;       ///< that a column is printed with
  static constexpr double least_told = 0x1p-6;  ///< of what is smaller, print leaves no more than a digit or two
  double last_ = 0;
  bool has_begun_ = false, begins_as_scale_ = false, has_other_ = false, has_moved_ = false, moves_otherwise_ = false;
};

}  // namespace tare
