// Where nothing tells a scale, whatever is optimised may be printed as a loss: only what is no number counts.
#include <cmath>

#include "lib/health/losses.hpp"

namespace tare {
namespace {

/// A loss that goes to 0 by learning comes by smaller ones.
constexpr double far_from_zero = 0.1;

bool is_no_number(std::optional<float> value) {
  return value && !std::isfinite(*value);
}

class LostReader {
 public:
  LostReader(const Trace& trace, const Thresholds& thresholds) : trace_(trace), thresholds_(thresholds) {}

  Losses read() {
    for (const TraceStep& step : trace_.without_scale) {
      if (is_no_number(step.loss) || is_no_number(step.grad_norm)) ++losses_.no_numbers;
      if (step.loss) take_loss(*step.loss, step);
      if (step.loss) take_zero(*step.loss, step);
      if (step.grad_norm) take_norm(*step.grad_norm, step);
    }
    end_loss(thresholds_.nan_reports);
    end_gradients();
    end_zero();
    return std::move(losses_);
  }

 private:
  [[nodiscard]] bool is_of_kind(const CoursePlace& place, std::string_view kind) const {
    return place.source < trace_.sources.size() && trace_.sources[place.source].kind == kind;
  }
  /// LoggerHook's, over the steps since the line before.
  [[nodiscard]] bool is_mean() const { return is_of_kind(gradients_.began, "mmengine-log"); }

  void take_loss(double loss, const TraceStep& step) {
    if (std::isfinite(loss)) {
      // Keras' means go over the epoch: one skipped step makes all that follow in it NaN.
      if (is_of_kind(lost_.began, "keras-bar")) lost_ = {};
      end_loss(has_told_loss_ ? thresholds_.nan_reports : thresholds_.nan_reports_at_start);
      has_told_loss_ = true;
      return;
    }
    if (lost_.reports++ == 0) lost_.began = place_of(step);
  }

  /// Of a run that looks for its scale the first losses may be none, too; then come some that are.
  void end_loss(double least) {
    if (static_cast<double>(lost_.reports) >= least && losses_.lost.empty()) losses_.lost.push_back(lost_);
    lost_ = {};
  }

  /// transformers' Trainer keeps NaN out of its mean: of an interval of nothing else 0 is left. A gradient norm beside
  /// it says itself what it is.
  void take_zero(double loss, const TraceStep& step) {
    if (loss != 0 || step.grad_norm || !is_of_kind(place_of(step), "huggingface-log")) {
      end_zero();
      loss_before_ = loss;
      return;
    }
    if (zero_.reports++ == 0) zero_ = {place_of(step), 1, loss_before_};
  }

  void end_zero() {
    const bool is_sudden =
        zero_.before > far_from_zero && static_cast<double>(zero_.reports) >= thresholds_.nan_reports;
    if (is_sudden && !losses_.zero) losses_.zero = zero_;
    zero_ = {};
  }

  void take_norm(double norm, const TraceStep& step) {
    if (std::isfinite(norm)) {
      end_gradients();
      is_at_start_ = false;
      return;
    }
    const bool is_first = gradients_.reports++ == 0;
    if (is_first) gradients_.began = place_of(step);
    gradients_.has_zero_loss = (is_first || gradients_.has_zero_loss) && step.loss == 0.0F;
  }

  /// A run that looks for its scale overflows from its first step on, and one skipped step makes a mean NaN; but losses
  /// are numbers then, and not 0.
  void end_gradients() {
    const bool may_be_well = (is_at_start_ || is_mean()) && !gradients_.has_zero_loss;
    const double least = may_be_well ? thresholds_.nan_reports_at_start : thresholds_.nan_reports;
    const bool is_enough = static_cast<double>(gradients_.reports) >= least;
    if (is_enough && losses_.lost_gradients.empty()) losses_.lost_gradients.push_back(gradients_);
    gradients_ = {};
  }

  const Trace& trace_;
  const Thresholds& thresholds_;
  Losses losses_;
  LostLoss lost_;
  LostGradients gradients_;
  ZeroLoss zero_;
  double loss_before_ = 0;
  bool is_at_start_ = true, has_told_loss_ = false;
};

}  // namespace

Losses losses_without_scale(const Trace& trace, const Thresholds& thresholds) {
  return LostReader(trace, thresholds).read();
}

}  // namespace tare
