// Rules about losses and gradient norms: often the scale does not show what they do.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/base/text.hpp"
#include "lib/health/look.hpp"

namespace tare {
namespace {

/// A norm's spike and another sign belong together within so many steps.
constexpr std::int64_t together_within = 200;

std::string ratio_text(double value, double least) {
  return fmt::format("{:.3g}, {:.3g} times the least before", value, value / least);
}

bool is_near(const CoursePlace& a, const CoursePlace& b) {
  if (a.segment != b.segment) return false;
  return a.step && b.step ? std::abs(*a.step - *b.step) <= together_within : a.line == b.line;
}

}  // namespace

bool is_of_kind(const Examination& run, std::string_view kind) {
  return std::ranges::any_of(run.trace.sources, [&](const TraceSource& source) { return source.kind == kind; });
}

std::string reports_text(std::uint64_t count) {
  return count == 1 ? "1 report" : fmt::format("{} reports", count);
}

void look_for_lost_loss(const Examination& run, std::vector<Symptom>& found) {
  if (run.losses.lost.empty()) {
    const auto said = std::ranges::find(run.trace.warnings, "loss-not-finite", &TraceWarning::code);
    if (said == run.trace.warnings.end()) return;
    return found.push_back(
        {"nan-loss", fmt::format("the trainer says that its loss is no number: {}", said->text), no_place, {}});
  }
  const LostLoss& lost = run.losses.lost.front();
  const char* what = lost.is_missing ? "the loss is missing in {} in which no step was skipped: it is NaN"
                                     : "the loss is NaN in {} in a row, of which none is told to be skipped";
  found.push_back({"nan-loss",
                   fmt::format(fmt::runtime(what), reports_text(lost.reports)),
                   lost.began,
                   {{"reports", static_cast<double>(lost.reports)}}});
}

void look_for_lost_gradients(const Examination& run, std::vector<Symptom>& found) {
  if (run.losses.lost_gradients.empty()) return;
  const LostGradients& lost = run.losses.lost_gradients.front();
  const char* meaning =
      lost.has_zero_loss
          ? "and the loss is 0, which Hugging Face's Trainer prints in place of NaN: weights or data are NaN"
      : lost.is_counted ? "that count no skipped step: weights become NaN, or every step is skipped uncounted"
                        : "of which nothing tells a skipped step: weights become NaN, or every step is skipped";
  found.push_back({"nan-gradients",
                   fmt::format("the gradient norm is NaN or infinite in {} in a row{}{}", reports_text(lost.reports),
                               lost.is_counted ? " " : ", ", meaning),
                   lost.began,
                   {{"reports", static_cast<double>(lost.reports)}}});
}

void look_for_zero_loss(const Examination& run, std::vector<Symptom>& found) {
  if (!run.losses.zero) return;
  const ZeroLoss& zero = *run.losses.zero;
  found.push_back(
      {"zero-loss",
       fmt::format("the loss is exactly 0 in {} in a row, and was {:.6g} before: Hugging Face's Trainer prints "
                   "that where every loss since the last report was NaN or infinite",
                   reports_text(zero.reports), zero.before),
       zero.began,
       {{"reports", static_cast<double>(zero.reports)}, {"before", zero.before}}});
}

void look_for_loss_rise(const Examination& run, std::vector<Symptom>& found) {
  for (const LossRise& rise : run.losses.rises) {
    const bool has_stayed = !rise.has_ended && rise.last > run.thresholds.loss_diverged * rise.least;
    const bool has_diverged = has_stayed && static_cast<double>(rise.steps) >= run.thresholds.loss_diverged_steps;
    const char* code = rise.has_ended ? "spike-recovered" : has_diverged ? "diverged" : "loss-spike";
    const std::string how = rise.has_ended ? fmt::format("came down again after {} steps", rise.steps)
                                           : fmt::format("stands at {:.3g} after {} steps", rise.last, rise.steps);
    found.push_back(
        {code,
         fmt::format("the loss rose to {} and {}. The scale need not show it", ratio_text(rise.peak, rise.least), how),
         rise.began,
         {{"least", rise.least}, {"peak", rise.peak}, {"last", rise.last}}});
  }
}

void look_for_norm_spike(const Examination& run, std::vector<Symptom>& found) {
  for (const NormSpike& spike : run.losses.norms) {
    const bool has_company =
        std::ranges::any_of(run.losses.rises, [&](const LossRise& rise) { return is_near(rise.began, spike.began); }) ||
        std::ranges::any_of(run.course.falls, [&](const Fall& fall) {
          return fall.overflows >= 3 && !fall.is_at_start &&
                 is_near(run.course.stretches[fall.first].first, spike.began);
        });
    if (!has_company) continue;
    found.push_back({"norm-spike",
                     fmt::format("the gradient norm was {:.6g}, {:.3g} times the median of the reports before it",
                                 spike.norm, spike.norm / spike.median),
                     spike.began,
                     {{"norm", spike.norm}, {"median", spike.median}}});
    return;
  }
}

}  // namespace tare
