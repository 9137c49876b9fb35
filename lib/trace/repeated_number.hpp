// A number that comes again: of copies of a step, or of something else that was taken for one.
#pragma once

#include <cmath>
#include <optional>

#include "lib/trace/steps.hpp"

namespace tare {

class RepeatedNumber {
 public:
  /// `step` has a number that the one before had not.
  void begin(const TraceStep& step) { *this = RepeatedNumber(scale_of(step)); }

  /// Whether what has the number can be one step no more, now that `step` has it, too: copies tell one scale, ranks
  /// that disagree, or a line before and one behind the update, two.
  bool is_of_several(const TraceStep& step) {
    const auto scale = scale_of(step);
    if (!scale || scale == first_) return is_of_several_;
    if (!second_) second_ = scale;
    is_of_several_ = is_of_several_ || scale != second_;
    return is_of_several_;
  }

  RepeatedNumber() = default;

 private:
  explicit RepeatedNumber(std::optional<double> first) : first_(first) {}

  static std::optional<double> scale_of(const TraceStep& step) {
    const auto scale = step.after ? step.after : step.scale ? step.scale : step.smoothed;
    return scale && std::isnan(*scale) ? std::nullopt : scale;
  }

  std::optional<double> first_, second_;
  bool is_of_several_ = false;
};

}  // namespace tare
