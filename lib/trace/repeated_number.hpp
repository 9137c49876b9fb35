// A number that comes again: of copies of a step, or of something else that was taken for one.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "lib/trace/steps.hpp"

namespace tare {

class RepeatedNumber {
 public:
  /// `step` has a number that the one before had not.
  void begin(const TraceStep& step) { *this = RepeatedNumber(scale_of(step)); }

  /// Whether what has the number can be one step no more, now that `step` has it, too: copies tell one scale, ranks,
  /// scalers and layers a few, and only one scale's course goes by factors of two through many.
  bool is_of_several(const TraceStep& step) {
    const auto scale = scale_of(step);
    if (!scale || !last_ || scale == last_) return is_of_several_;
    is_course_ = is_course_ && (*scale == 2 * *last_ || 2 * *scale == *last_);
    last_ = scale;
    least_ = std::min(least_, *scale);
    greatest_ = std::max(greatest_, *scale);
    is_of_several_ = is_of_several_ || (is_course_ && greatest_ >= farthest_of_one * least_);
    return is_of_several_;
  }

  RepeatedNumber() = default;

 private:
  static constexpr double farthest_of_one = 128;  ///< eight powers of two

  explicit RepeatedNumber(std::optional<double> first)
      : last_(first), least_(first.value_or(0)), greatest_(first.value_or(0)) {}

  static std::optional<double> scale_of(const TraceStep& step) {
    const auto scale = step.after ? step.after : step.scale ? step.scale : step.smoothed;
    return scale && std::isnan(*scale) ? std::nullopt : scale;
  }

  std::optional<double> last_;
  double least_ = 0, greatest_ = 0;
  bool is_course_ = true, is_of_several_ = false;
};

}  // namespace tare
