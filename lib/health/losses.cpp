#include "lib/health/losses.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "lib/trace/overwritten.hpp"

namespace tare {
namespace {

/// Reports that a level is made of, and the fewest that are one: excerpts are short.
constexpr std::size_t level_reports = 5;
constexpr std::size_t least_level_reports = 3;
constexpr std::size_t norm_reports = 100;
constexpr std::size_t least_norm_reports = 20;
/// Of each kind; a run that has more is told by the first.
constexpr std::size_t most_told = 1000;
/// How many times further than the reports before it from their level a report stands out.
constexpr double times_further = 3;
constexpr std::size_t distance_reports = 50;

template <class Values>
double median_of(const Values& values) {
  std::vector<double> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

/// The last reports; its median is the level, and the median distance from it the spread.
class Level {
 public:
  explicit Level(std::size_t most) : most_(most) {}

  void put(double value) {
    values_.push_back(value);
    if (values_.size() > most_) values_.pop_front();
  }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] double median() const { return median_of(values_); }
  [[nodiscard]] double greatest() const { return *std::ranges::max_element(values_); }
  [[nodiscard]] double spread() const {
    const double middle = median();
    std::vector<double> distances;
    for (const double value : values_) distances.push_back(std::abs(value - middle));
    return median_of(distances);
  }

 private:
  std::size_t most_;
  std::deque<double> values_;
};

class LossReader {
 public:
  LossReader(const Trace& trace, const Thresholds& thresholds) : trace_(trace), thresholds_(thresholds) {}

  Losses read() {
    Overwritten overwritten(trace_);
    for (const TraceStep& step : trace_.steps) {
      if (overwritten.has(step)) continue;
      const CoursePlace place = place_of(step);
      const bool was_skipped = step.overflow.value_or(false) || step.skipped.value_or(0) > 0;
      take_loss(step, place, was_skipped);
      if (step.grad_norm && !was_skipped) take_norm(*step.grad_norm, place);
      take_lost_gradients(step, place);
    }
    end_lost();
    end_lost_gradients();
    if (is_high_) close(false);
    return std::move(losses_);
  }

 private:
  void take_loss(const TraceStep& step, const CoursePlace& place, bool was_skipped) {
    const bool is_missing = !step.loss && losses_.reports > 0 && step.skipped == 0U && tells_losses(step);
    const bool is_nan = step.loss && !std::isfinite(*step.loss);
    if (was_skipped) return;
    if (is_nan) ++losses_.no_numbers;
    if (is_missing || is_nan) {
      if (lost_.reports++ == 0) lost_.began = place;
      lost_.is_missing = is_missing;
      return;
    }
    if (!step.loss) return;
    end_lost();
    ++losses_.reports;
    take_finite(*step.loss, place, step.span);
  }

  /// Lines of one source either all have a loss, or none has.
  bool tells_losses(const TraceStep& step) { return trace_.sources[step.source].kind == "megatron-log"; }

  void end_lost() {
    const bool is_enough =
        lost_.is_missing ? lost_.reports >= 1 : static_cast<double>(lost_.reports) >= thresholds_.nan_reports;
    if (lost_.reports > 0 && is_enough && losses_.lost.size() < most_told) losses_.lost.push_back(lost_);
    lost_ = {};
  }

  void take_finite(double loss, const CoursePlace& place, std::uint64_t span) {
    if (level_.size() < least_level_reports) {
      level_.put(loss);
      least_ = level_.median();
      return;
    }
    if (least_ <= 0) return level_.put(loss);  // a ratio of negative losses says nothing
    const double distance = std::abs(loss - level_.median());
    const bool stands_out =
        loss > thresholds_.loss_jump * least_ && loss > level_.median() && distance > usual_distance();
    if (!stands_out) distances_.put(distance);
    level_.put(loss);
    const double level = level_.median();
    high_reports_ = level > thresholds_.loss_ratio * least_ ? high_reports_ + 1 : 0;
    if (!is_high_) least_ = std::min(least_, level);
    if (is_high_) return go_on(loss, level, span);
    const bool has_crept = static_cast<double>(high_reports_) >= thresholds_.loss_reports && !is_noisy();
    if (stands_out || has_crept) begin(loss, place);
  }

  /// A few percent at least: a straight line has no distances.
  [[nodiscard]] double usual_distance() const {
    const double seen = distances_.size() == 0 ? 0 : distances_.greatest();
    return std::max(times_further * seen, 0.1 * level_.median());
  }
  [[nodiscard]] bool is_noisy() const { return level_.spread() > 0.1 * least_; }

  void begin(double loss, const CoursePlace& place) {
    is_high_ = true;
    calm_ = 0;
    rise_ = {.began = place, .least = least_, .peak = loss, .last = loss};
  }

  void go_on(double loss, double level, std::uint64_t span) {
    rise_.steps += span;
    rise_.peak = std::max(rise_.peak, loss);
    rise_.last = level;
    calm_ = loss <= thresholds_.loss_ratio * least_ ? calm_ + 1 : 0;
    if (calm_ >= level_reports) close(true);
  }

  void close(bool has_ended) {
    rise_.has_ended = has_ended;
    if (losses_.rises.size() < most_told) losses_.rises.push_back(rise_);
    is_high_ = false;
    high_reports_ = 0;
  }

  void take_norm(double norm, const CoursePlace& place) {
    if (!std::isfinite(norm) || norm <= 0) return;
    if (norms_.size() >= least_norm_reports) {
      const double median = norms_.median();
      const bool is_spike = norm > thresholds_.norm_ratio * median;
      if (is_spike && losses_.norms.size() < most_told) losses_.norms.push_back({place, norm, median});
    }
    norms_.put(norm);
  }

  /// Where skipped steps are not counted, such a norm is an overflow's.
  void take_lost_gradients(const TraceStep& step, const CoursePlace& place) {
    const std::optional<double> scale = step.after ? step.after : step.scale;
    const bool has_fallen = scale && scale_ && *scale < *scale_;
    if (scale) scale_ = scale;
    if (!step.grad_norm) return;
    const bool is_lost = !std::isfinite(*step.grad_norm) && step.skipped == 0U && !has_fallen;
    if (!is_lost) return end_lost_gradients();
    if (lost_gradients_.reports++ == 0) lost_gradients_.began = place;
    lost_gradients_.is_counted = true;
  }

  void end_lost_gradients() {
    const bool is_enough = static_cast<double>(lost_gradients_.reports) >= thresholds_.nan_reports;
    if (is_enough && losses_.lost_gradients.size() < most_told) losses_.lost_gradients.push_back(lost_gradients_);
    lost_gradients_ = {};
  }

  const Trace& trace_;
  const Thresholds& thresholds_;
  Losses losses_;
  LostLoss lost_;
  LostGradients lost_gradients_;
  std::optional<double> scale_;
  Level level_{level_reports};
  Level distances_{distance_reports};
  Level norms_{norm_reports};
  LossRise rise_;
  double least_ = 0;
  std::uint64_t high_reports_ = 0;
  std::size_t calm_ = 0;
  bool is_high_ = false;
};

}  // namespace

Losses losses_of(const Trace& trace, const Thresholds& thresholds) {
  Losses losses = LossReader(trace, thresholds).read();
  const Losses more = losses_without_scale(trace, thresholds);
  losses.no_numbers += more.no_numbers;
  losses.lost.insert(losses.lost.end(), more.lost.begin(), more.lost.end());
  losses.lost_gradients.insert(losses.lost_gradients.end(), more.lost_gradients.begin(), more.lost_gradients.end());
  losses.zero = more.zero;
  return losses;
}

}  // namespace tare
