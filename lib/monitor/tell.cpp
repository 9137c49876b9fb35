// What the examiner says of what it saw.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "lib/base/text.hpp"
#include "lib/monitor/examiner.hpp"

namespace tare::monitor {
namespace {

constexpr Severity note = Severity::note;
constexpr Severity warning = Severity::warning;

struct Saying {
  std::string_view code;
  Severity severity;
  std::string_view advice;
};

constexpr Saying underflow{"gradient-underflow", warning,
                           "The scale has room to grow: a larger initial scale, or a shorter window, lets it"};
constexpr Saying underflow_without_room{"gradient-underflow", warning,
                                        "A greater scale would overflow: scale layer by layer (policy \"layerwise\"), "
                                        "or train in bfloat16, or in float32 with "
                                        "TF32 products, neither of which needs a scale"};
constexpr Saying rising{"underflow-rising", warning,
                        "Watch it: a shorter window lets the scale follow gradients that become smaller"};
constexpr Saying layer_underflow{
    "layer-underflow", warning,
    "Scale layer by layer (policy \"layerwise\") if other layers leave no room; \"ignore\" "
    "names layers whose gradients are zero by themselves"};
constexpr Saying beyond_range{"beyond-f16-range", warning,
                              "No scale keeps both ends of this layer: compute it in bfloat16, or in float32 (TF32 "
                              "where the card has it)"};
constexpr Saying layer_frozen{"layer-frozen", warning,
                              "Look whether the layer is meant to train; \"ignore\" names those that are not"};
constexpr Saying collapse{"collapse", Severity::error,
                          "Stop the run and go back to a checkpoint from before it; look at the data and the learning "
                          "rate at the step named"};
constexpr Saying gradient_not_finite{"gradient-not-finite", note,
                                     "Normal now and then: the step is skipped and the scale falls"};
constexpr Saying tensor_not_finite{"tensor-not-finite", warning,
                                   "No loss scale mends it: look at the step's data, and at the layer in front"};
constexpr Saying activation_infinite{"tensor-not-finite", warning,
                                     "No loss scale mends it: clamp these values to 65504, float16's largest, before "
                                     "they go on, or compute this layer in "
                                     "bfloat16 or TF32, which reach as far as float32"};
constexpr Saying too_many_overflows{"too-many-overflows", warning,
                                    "`tare simulate LOG --window 500,1000,2000` shows what other settings would skip"};
constexpr Saying low_scale{"low-scale", warning,
                           "Divide the loss if it is a sum; a shorter window lets the scale come back sooner; bfloat16 "
                           "and TF32 need no scale"};
constexpr Saying stuck_at_floor{"stuck-at-floor", Severity::error,
                                "No step is made: stop the run and go back to a checkpoint from before it; a lower "
                                "floor helps only if the gradients are finite without a scale"};
constexpr Saying falling{"falling", warning,
                         "Watch it, and keep the checkpoint from before it: the gradients have grown, and the loss may "
                         "follow; look at the data of the step named"};
constexpr Saying oscillating{
    "oscillating", note,
    "Normal. A longer window or a ceiling saves the skipped steps: `tare simulate LOG --window 2000,4000`"};
constexpr Saying adam_underflow{
    "adam-underflow", warning,
    "Keep the optimizer's state in float32, and its eps at 1e-7 or more where it is float16"};

HealthFinding told(const Saying& saying, std::int64_t step, std::string message) {
  HealthFinding finding;
  finding.severity = saying.severity;
  finding.code = saying.code;
  finding.message = std::move(message);
  finding.advice = saying.advice;
  finding.step = step;
  return finding;
}

void add_evidence(HealthFinding& finding, std::string_view name, double value) {
  finding.evidence.emplace_back(name, value);
}

std::string percent(double share) {
  return fmt::format("{:.3g} %", 100 * share);
}

std::string more(std::size_t count) {
  return count > 1 ? fmt::format(", and {} more", count - 1) : "";
}

/// Names of which one thing is said: how many, and the worst.
struct Worst {
  std::size_t count = 0;
  std::string name;
  double value = 0;
  std::int64_t began = 0;

  void add(const std::string& one, double value_of_one, std::int64_t step) {
    if (count++ != 0 && value_of_one <= value) return;
    name = one;
    value = value_of_one;
    began = step;
  }
};

HealthFinding told(const Saying& saying, const Worst& worst, std::string_view what) {
  HealthFinding finding =
      told(saying, worst.began, fmt::format("{}{}{}", escaped(worst.name), what, more(worst.count)));
  finding.path = worst.name;
  add_evidence(finding, "tensors", static_cast<double>(worst.count));
  return finding;
}

bool vanishes(const Observed& tensor, double share) {
  const Summary& seen = tensor.summary;
  return tensor.group == "exp_avg_sq" && tensor.dtype == Dtype::f16 && seen.count != 0 &&
         static_cast<double>(seen.zeros) >= share * static_cast<double>(seen.count);
}

/// Activations that went beyond float16 and nothing else.
bool is_clamped_well(const Observed& tensor) {
  return (tensor.group == "inputs" || tensor.group == "outputs") && tensor.dtype == Dtype::f16 &&
         tensor.summary.nans == 0;
}

std::string what_is_not_finite(const Gradient& gradient) {
  if (!gradient.finite) return ": infinities or nan";
  return fmt::format(": {} infinities and {} nan among {} values", gradient.finite->infinities, gradient.finite->nans,
                     gradient.seen.count);
}

/// Of the layers that count, the share of which it is told.
void add_layers(HealthFinding& finding, const Worst& worst, const Signals& signals) {
  if (signals.layers == 0) return;
  const double share = static_cast<double>(worst.count) / static_cast<double>(signals.layers);
  finding.message += fmt::format(" ({} of the layers)", percent(share));
  add_evidence(finding, "layers", share);
}

}  // namespace

/// The first search for a scale overflows step upon step, too: it is told where the run was past that.
void Examiner::tell_collapse(ObservedStep& step) const {
  constexpr double longest_search = 64;
  if (!holds(memory_.overflowing) || !(memory_.has_been_finite || memory_.overflowing.looks > longest_search)) return;
  HealthFinding& finding = step.findings.emplace_back(
      told(collapse, memory_.overflowing.began,
           fmt::format("the gradients were infinite or nan in {} looks in a row", memory_.overflowing.looks)));
  add_evidence(finding, "looks", memory_.overflowing.looks);
}

void Examiner::tell_values(ObservedStep& step) const {
  Worst gradients;
  const Gradient* first = nullptr;
  for (const Gradient& gradient : step.gradients) {
    if (is_finite(gradient.seen.max_abs)) continue;
    if (first == nullptr) first = &gradient;
    gradients.add(gradient.name, 0, step.step);
  }
  Worst tensors;
  Worst moments;
  const Saying* not_finite = &tensor_not_finite;
  for (const Observed& tensor : step.tensors) {
    if (tensor.summary.finite() != tensor.summary.count) {
      if (tensors.count == 0 && is_clamped_well(tensor)) not_finite = &activation_infinite;
      tensors.add(tensor.group + "/" + tensor.name, 0, step.step);
    }
    if (vanishes(tensor, limits_.underflow)) moments.add(tensor.name, 0, step.step);
  }
  if (tensors.count > 0) step.findings.push_back(told(*not_finite, tensors, " holds infinities or nan"));
  if (moments.count > 0)
    step.findings.push_back(told(adam_underflow, moments, ": second moments in float16 became zero"));
  if (first != nullptr) {
    HealthFinding& finding =
        step.findings.emplace_back(told(gradient_not_finite, gradients, what_is_not_finite(*first)));
    if (first->finite) {
      add_evidence(finding, "nans", static_cast<double>(first->finite->nans));
      add_evidence(finding, "infinities", static_cast<double>(first->finite->infinities));
    }
  }
}

void Examiner::tell_gradients(ObservedStep& step) const {
  const Signals& seen = step.signals;
  if (!seen.lost) return;
  const double headroom = seen.headroom_bits.value_or(0);
  if (holds(memory_.lost)) {
    HealthFinding& finding = step.findings.emplace_back(told(
        headroom < little_room ? underflow_without_room : underflow, memory_.lost.began,
        fmt::format("{} of the gradients became zero, and as many or about so in {} looks in a row; the greatest has "
                    "{:.1f} bits of headroom",
                    percent(*seen.lost), memory_.lost.looks, headroom)));
    add_evidence(finding, "share", *seen.lost);
    add_evidence(finding, "headroom_bits", headroom);
  }
  const auto span = static_cast<double>(memory_.looks.back().step - memory_.looks.front().step);
  const double rise = seen.lost_trend.slope * span;
  if (seen.lost_trend.confidence >= limits_.confidence && rise >= limits_.rise) {
    HealthFinding& finding = step.findings.emplace_back(
        told(rising, memory_.looks.front().step,
             fmt::format("the share of gradients that become zero rose by {} in {} steps, to {}", percent(rise), span,
                         percent(*seen.lost))));
    add_evidence(finding, "share", *seen.lost);
    add_evidence(finding, "slope", seen.lost_trend.slope);
    add_evidence(finding, "confidence", seen.lost_trend.confidence);
  }
}

void Examiner::tell_layers(ObservedStep& step) const {
  Worst lost;
  Worst torn;
  Worst frozen;
  for (const Gradient& gradient : step.gradients) {
    const auto layer = memory_.layers.find(gradient.name);
    if (layer == memory_.layers.end()) continue;
    const double share = gradient.lost.value_or(0);
    if (holds(layer->second.lost)) lost.add(gradient.name, share, layer->second.lost.began);
    if (holds(layer->second.torn)) torn.add(gradient.name, share, layer->second.torn.began);
    if (holds(layer->second.all_zero)) frozen.add(gradient.name, 0, layer->second.all_zero.began);
  }
  if (torn.count > 0) {
    add_layers(
        step.findings.emplace_back(told(
            beyond_range, torn, fmt::format(": {} became zero, and the greatest have no room", percent(torn.value)))),
        torn, step.signals);
  }
  if (lost.count > 0) {
    HealthFinding& finding = step.findings.emplace_back(
        told(layer_underflow, lost, fmt::format(": {} of its gradients became zero", percent(lost.value))));
    add_evidence(finding, "share", lost.value);
    add_layers(finding, lost, step.signals);
  }
  if (frozen.count > 0) {
    add_layers(step.findings.emplace_back(told(layer_frozen, frozen, ": all of its gradients are zero")), frozen,
               step.signals);
  }
}

void Examiner::tell_stuck(ObservedStep& step) const {
  if (!step.scaler || memory_.stuck_steps == 0 || memory_.stuck_steps < limits_.stuck) return;
  HealthFinding& finding =
      step.findings.emplace_back(told(stuck_at_floor, memory_.stuck_since,
                                      fmt::format("the last {} steps were skipped at scale {}, which did not move",
                                                  memory_.stuck_steps, float_text(step.scaler->scale))));
  add_evidence(finding, "overflows", memory_.stuck_steps);
  add_evidence(finding, "scale", step.scaler->scale);
}

std::span<const Look> Examiner::settled_looks() const {
  const std::vector<Look>& looks = memory_.looks;
  std::size_t first = looks.size();
  const auto goes_on = [&](const Look& look) {
    return look.scaler && (first == looks.size() || look.scaler->steps <= looks[first].scaler->steps);
  };
  while (first > 0 && goes_on(looks[first - 1])) --first;
  return std::span(looks).subspan(first);
}

std::optional<double> Examiner::skipped_share() const {
  constexpr double enough_steps = 900;
  const std::span<const Look> looks = settled_looks();
  if (looks.empty()) return {};
  const ScalerSeen& from = *looks.front().scaler;
  const ScalerSeen& to = *looks.back().scaler;
  const double steps = difference(to.steps, from.steps);
  if (steps < enough_steps) return {};
  return difference(to.skipped, from.skipped) / steps;
}

/// Told as it happens, long before the zeros that a low scale makes are as many as count.
void Examiner::tell_fall(ObservedStep& step) const {
  const std::span<const Look> looks = settled_looks();
  if (looks.empty() || format_ != Format::f16) return;
  const auto scale = [](const Look& look) { return look.scaler->scale; };
  const auto top = std::ranges::max_element(looks, std::less_equal{}, scale);  // the last of several
  const double now = scale(looks.back());
  if (!(now > 0) || !is_finite(scale(*top)) || std::log2(scale(*top) / now) < limits_.falling || now == scale(*top)) {
    return;
  }
  HealthFinding& finding = step.findings.emplace_back(
      told(falling, top->step,
           fmt::format("the scale fell from {} to {} within {} steps and has not come back", float_text(scale(*top)),
                       float_text(now), difference(looks.back().step, top->step))));
  add_evidence(finding, "from", scale(*top));
  add_evidence(finding, "to", now);
  add_evidence(finding, "octaves", std::log2(scale(*top) / now));
}

/// As many growths as backoffs, and no third scale: each growth was too much.
void Examiner::tell_oscillation(ObservedStep& step) const {
  constexpr double enough_growths = 3;  // the doctor's
  const std::span<const Look> looks = settled_looks();
  if (looks.empty()) return;
  const ScalerSeen& from = *looks.front().scaler;
  const ScalerSeen& to = *looks.back().scaler;
  const double growths = difference(to.growths, from.growths);
  const double backoffs = difference(to.backoffs, from.backoffs);
  if (growths < enough_growths || backoffs < enough_growths || std::fabs(growths - backoffs) > 1) return;
  double low = from.scale;
  double high = from.scale;
  for (const Look& look : looks) {
    low = std::min(low, look.scaler->scale);
    high = std::max(high, look.scaler->scale);
  }
  const auto is_end = [&](const Look& look) { return look.scaler->scale == low || look.scaler->scale == high; };
  if (!std::ranges::all_of(looks, is_end)) return;
  HealthFinding& finding =
      step.findings.emplace_back(told(oscillating, looks.front().step,
                                      fmt::format("the scale grew {} times in {} steps and fell as often, back to {}",
                                                  growths, difference(to.steps, from.steps), float_text(low))));
  add_evidence(finding, "hits", backoffs);
  add_evidence(finding, "scale", low);
}

void Examiner::tell_scaler(ObservedStep& step) const {
  if (step.scaler && holds(memory_.low_scale)) {
    HealthFinding& finding =
        step.findings.emplace_back(told(low_scale, memory_.low_scale.began,
                                        fmt::format("the scale is {}, and was as low in {} looks in a row",
                                                    float_text(step.scaler->scale), memory_.low_scale.looks)));
    add_evidence(finding, "scale", step.scaler->scale);
  }
  const std::optional<double> share = skipped_share();
  if (share && *share >= limits_.overflows) {
    HealthFinding& finding = step.findings.emplace_back(told(
        too_many_overflows, step.step, fmt::format("{} of the last thousand steps were skipped", percent(*share))));
    add_evidence(finding, "share", *share);
  }
}

}  // namespace tare::monitor
