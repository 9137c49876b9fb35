// Rules about logs that tell averages of the scale alone, or print it rounded: single overflows do not show in them, a
// fall that stays does.
#include <fmt/format.h>

#include <cmath>

#include "lib/base/text.hpp"
#include "lib/health/look.hpp"

namespace tare {
namespace {

/// One alone may be the start's; a scale below 1 none begins with.
constexpr std::uint64_t least_low_averages = 3;

void look_for_broken(const ScaleAverages& averages, std::vector<Symptom>& found) {
  const bool has_top = averages.greatest > 0;
  const std::string from = has_top ? fmt::format(", which was {} at most,", float_text(averages.greatest)) : "";
  Symptom symptom{"broken-scale",
                  fmt::format("the scale{} is {}, by what {} to the end print of it: no gradient is a number then, and "
                              "no step is made",
                              from, float_text(averages.broken), reports_text(averages.broken_reports)),
                  averages.broken_from,
                  {{"reports", static_cast<double>(averages.broken_reports)}}};
  if (has_top) symptom.evidence.emplace_back("from", averages.greatest);
  found.push_back(std::move(symptom));
}

void look_for_low(const Examination& run, std::vector<Symptom>& found) {
  const ScaleAverages& averages = run.averages;
  const double octaves = averages.last > 0 ? std::log2(averages.top / averages.last) : INFINITY;
  const bool is_low =
      averages.last < run.thresholds.low_scale && (averages.last < 1 || averages.low_reports >= least_low_averages);
  if (averages.low_reports > 0 && averages.top > 0 && octaves >= run.thresholds.collapse_overflows) {
    found.push_back(
        {"collapse",
         fmt::format("the scale fell from {} to {} and stays there, by what {} print of it", float_text(averages.top),
                     float_text(averages.last), reports_text(averages.low_reports)),
         averages.low_from,
         {{"from", averages.top}, {"to", averages.last}}});
  } else if (is_low) {
    found.push_back({"low-scale",
                     fmt::format("the scale is printed as an average, or rounded, and is below {} in the last {}, {} "
                                 "at last: small gradients "
                                 "become 0 in float16. If the loss is a sum, divide it",
                                 float_text(run.thresholds.collapse_low_scale), reports_text(averages.low_reports),
                                 float_text(averages.last)),
                     averages.low_from,
                     {{"last", averages.last}, {"limit", run.thresholds.low_scale}}});
  }
}

/// A scale below what the log has decimals for, behind scales that it told: Megatron prints 2^-3 as 0.1.
void look_for_rounded(const Examination& run, std::vector<Symptom>& found) {
  const ScaleAverages& averages = run.averages;
  if (averages.low_reports == 0 || averages.last >= 1 || !averages.told || !(*averages.told >= 1)) return;
  found.push_back({"collapse",
                   fmt::format("the scale fell from {} until {} print it as {}, rounded", float_text(*averages.told),
                               reports_text(averages.low_reports), float_text(averages.last)),
                   averages.low_from,
                   {{"from", *averages.told}, {"to", averages.last}}});
}

}  // namespace

void look_for_averages(const Examination& run, std::vector<Symptom>& found) {
  const ScaleAverages& averages = run.averages;
  if (averages.reports == 0) return;
  if (run.course.has_scale) return look_for_rounded(run, found);
  const bool is_one = averages.least == 1 && averages.greatest == 1;
  if (is_one && averages.broken_reports == 0 && averages.reports >= least_low_averages) {
    return found.push_back(
        {"not-scaled",
         fmt::format("the scale is printed as 1 throughout ({}): bfloat16 or float32, which need none",
                     reports_text(averages.reports)),
         averages.first,
         {{"reports", static_cast<double>(averages.reports)}}});
  }
  if (averages.broken_reports > 0) {
    look_for_broken(averages, found);
  } else {
    look_for_low(run, found);
  }
  const bool has_numbers = averages.least <= averages.greatest;
  const std::string range =
      has_numbers ? fmt::format(", {} to {}", float_text(averages.least), float_text(averages.greatest)) : "";
  found.push_back({"averages-alone",
                   fmt::format("{} of a scale that is an average, or rounded{}: neither a step's own scale nor "
                               "which steps were skipped is known",
                               reports_text(averages.reports), range),
                   averages.first,
                   {{"reports", static_cast<double>(averages.reports)}}});
}

}  // namespace tare
