#include "lib/monitor/examiner.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "lib/base/glob.hpp"

namespace tare::monitor {
namespace {

constexpr std::uint64_t window_steps = 1000;  // S1's rule goes by the first so many
constexpr double search_steps = 64;  // without a skip: the first search for a scale is over, as the doctor has it
constexpr std::size_t trend_points = 100;

bool all_finite(const std::vector<Gradient>& gradients) {
  return std::ranges::all_of(gradients, [](const Gradient& one) { return is_finite(one.seen.max_abs); });
}

bool is_all_zero(const Gradient& gradient) {
  return gradient.seen.count != 0 && gradient.seen.zeros == gradient.seen.count;
}

/// What a step shows of the tensors of one name: of any of them.
struct LayerLook {
  bool is_lost = false, is_torn = false, is_all_zero = false;
};

/// From one step to a later one, wherever they lie.
std::uint64_t distance(std::int64_t from, std::int64_t to) {
  return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

}  // namespace

double Examiner::difference(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) - static_cast<double>(b);
}

void Streak::add(bool holds, std::int64_t step) {
  if (holds && looks == 0) began = step;
  looks = holds ? looks + 1 : 0;
}

bool Examiner::counts(const std::string& name) const {
  return std::ranges::none_of(limits_.ignore, [&](const std::string& glob) { return glob_matches(glob, name); });
}

void Examiner::examine(ObservedStep& step) {
  step.signals = {};
  step.findings.clear();
  for (Gradient& gradient : step.gradients) {
    gradient.lost = lost_share(gradient.seen, gradient.threshold, format_);
    gradient.headroom_bits = headroom_bits(gradient.seen.max_abs, format_);
  }
  sum_up(step);
  count_layers(step);
  go_back(step.step);
  keep(step);
  note_streaks(step);
  for (Gradient& gradient : step.gradients) {
    const auto layer = memory_.layers.find(gradient.name);
    if (layer != memory_.layers.end() && is_all_zero(gradient)) gradient.all_zero = layer->second.all_zero;
  }
  note_stuck(step);
  if (step.signals.lost) step.signals.lost_trend = trend();
  tell_collapse(step);
  tell_stuck(step);
  tell_values(step);
  tell_gradients(step);
  tell_layers(step);
  tell_scaler(step);
  tell_fall(step);
  tell_oscillation(step);
  std::ranges::stable_sort(step.findings, std::greater{}, &HealthFinding::severity);
}

/// Of a step that overflowed nothing is told: its gradients are greater than usual.
void Examiner::sum_up(ObservedStep& step) const {
  if (!all_finite(step.gradients)) return;
  double values = 0;
  double lost = 0;
  for (const Gradient& gradient : step.gradients) {
    std::optional<double>& least = step.signals.headroom_bits;
    if (gradient.headroom_bits) least = std::min(least.value_or(*gradient.headroom_bits), *gradient.headroom_bits);
    if (!gradient.lost || !counts(gradient.name)) continue;
    values += static_cast<double>(gradient.seen.count);
    lost += *gradient.lost * static_cast<double>(gradient.seen.count);
  }
  if (values > 0) step.signals.lost = lost / values;
}

/// Likewise.
void Examiner::count_layers(ObservedStep& step) const {
  if (!all_finite(step.gradients)) return;
  double lost = 0;
  double zero = 0;
  for (const Gradient& gradient : step.gradients) {
    if (!counts(gradient.name) || gradient.seen.count == 0) continue;
    ++step.signals.layers;
    const double zeros = static_cast<double>(gradient.seen.zeros) / static_cast<double>(gradient.seen.count);
    if (gradient.lost >= limits_.underflow) ++lost;
    if (zeros >= limits_.zeros) ++zero;
  }
  if (step.signals.layers == 0) return;
  step.signals.layers_lost = lost / static_cast<double>(step.signals.layers);
  step.signals.layers_zero = zero / static_cast<double>(step.signals.layers);
}

/// The run began again at or before what was seen: of that nothing is left, nor of how long something held.
void Examiner::go_back(std::int64_t step) {
  std::vector<Look>& looks = memory_.looks;
  if (looks.empty() || looks.back().step < step) return;
  while (!looks.empty() && looks.back().step >= step) looks.pop_back();
  const auto shorten = [&](Streak& streak) {
    const auto kept = looks.end() - std::ranges::lower_bound(looks, streak.began, {}, &Look::step);
    streak.looks = std::min(streak.looks, static_cast<double>(kept));
  };
  for (Streak* const streak : {&memory_.lost, &memory_.low_scale, &memory_.overflowing}) shorten(*streak);
  for (auto& [name, layer] : memory_.layers) {
    for (Streak* const streak : {&layer.lost, &layer.all_zero, &layer.torn}) shorten(*streak);
  }
  if (memory_.stuck_since >= step) memory_.stuck_steps = 0;
  memory_.scaler.reset();
}

void Examiner::keep(const ObservedStep& step) {
  std::vector<Look>& looks = memory_.looks;
  Look& look = looks.emplace_back(Look{step.step, step.signals.lost, {}});
  if (step.scaler && is_settled(*step.scaler)) look.scaler = step.scaler;
  const auto old = [&](const Look& one) { return distance(one.step, step.step) > window_steps; };
  looks.erase(looks.begin(), std::ranges::find_if_not(looks, old));
  if (looks.size() > most_looks) looks.erase(looks.begin());
}

bool Examiner::is_settled(const ScalerSeen& scaler) {
  if (memory_.is_settled) return true;
  if (scaler.skipped != memory_.last_skipped) {
    memory_.last_skipped = scaler.skipped;
    memory_.skipped_at = scaler.steps;
  }
  memory_.is_settled = difference(scaler.steps, memory_.skipped_at) >= search_steps;
  return memory_.is_settled;
}

void Examiner::note_streaks(const ObservedStep& step) {
  if (step.scaler) memory_.low_scale.add(format_ == Format::f16 && step.scaler->scale < limits_.low_scale, step.step);
  const bool is_finite_all = all_finite(step.gradients);
  memory_.overflowing.add(!is_finite_all, step.step);
  memory_.has_been_finite = memory_.has_been_finite || (is_finite_all && !step.gradients.empty());
  if (!is_finite_all) return;
  if (step.signals.lost) memory_.lost.add(*step.signals.lost >= limits_.underflow, step.step);
  std::unordered_map<std::string_view, LayerLook> looks;  // two lists may have tensors of one name
  for (const Gradient& gradient : step.gradients) {
    if (!counts(gradient.name)) continue;
    LayerLook& look = looks[gradient.name];
    const bool is_lost = gradient.lost && *gradient.lost >= limits_.underflow;
    look.is_lost = look.is_lost || is_lost;
    look.is_torn = look.is_torn || (is_lost && gradient.headroom_bits < little_room);
    look.is_all_zero = look.is_all_zero || is_all_zero(gradient);
  }
  for (const auto& [name, look] : looks) {
    LayerStreaks& layer = memory_.layers[std::string(name)];
    layer.lost.add(look.is_lost, step.step);
    layer.torn.add(look.is_torn, step.step);
    layer.all_zero.add(look.is_all_zero, step.step);
  }
}

/// The scaler's own count of steps tells how many lie between two looks.
void Examiner::note_stuck(const ObservedStep& step) {
  if (!step.scaler) return;
  const ScalerSeen& now = *step.scaler;
  const ScalerSeen before = std::exchange(memory_.scaler, now).value_or(now);
  const double steps = difference(now.steps, before.steps);
  const bool stays = steps > 0 && difference(now.skipped, before.skipped) == steps && now.scale == before.scale &&
                     now.backoffs == before.backoffs && now.growths == before.growths;
  if (stays && memory_.stuck_steps == 0) memory_.stuck_since = step.step;
  if (steps != 0) memory_.stuck_steps = stays ? memory_.stuck_steps + steps : 0;
}

Trend Examiner::trend() const {
  std::vector<TrendPoint> points;
  for (const Look& look : memory_.looks) {
    if (look.lost) points.push_back({look.step, *look.lost});
  }
  const std::size_t stride = (points.size() + trend_points - 1) / trend_points;
  std::vector<TrendPoint> some;
  for (std::size_t i = 0; i < points.size(); i += stride) some.push_back(points[i]);
  return trend_of(some);
}

}  // namespace tare::monitor
