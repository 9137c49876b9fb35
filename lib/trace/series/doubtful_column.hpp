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
    if (begins_as_scale_) return may_go_on_as_scale(value);
    has_other_ = has_other_ || !may_go_on_as_scale(value) || (value < 1 && value != 0 && !is_power_of_two(value));
    if (!std::isfinite(value) || value == 0) return true;
    has_moved_ = has_moved_ || value != last_;
    moves_otherwise_ = moves_otherwise_ || (value != last_ && value != 2 * last_ && 2 * value != last_);
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
    begins_as_scale_ = may_begin_as_scale(value);
    last_ = value;
  }

  double last_ = 0;
  bool has_begun_ = false, begins_as_scale_ = false, has_other_ = false, has_moved_ = false, moves_otherwise_ = false;
};

}  // namespace tare
