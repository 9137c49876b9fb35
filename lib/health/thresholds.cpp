#include "lib/health/thresholds.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/nearest.hpp"
#include "lib/base/text.hpp"

namespace tare {
namespace {

using T = Thresholds;

constexpr auto threshold_rows = std::to_array<ThresholdFacts>({
    {"collapse-overflows", &T::collapse_overflows, "collapse", "overflows in a row, outside the start",
     "no healthy run that was published has more than 2"},
    {"collapse-low-overflows", &T::collapse_low_overflows, "collapse",
     "overflows in a row that are enough where they end below collapse-low-scale", "as above"},
    {"collapse-low-scale", &T::collapse_low_scale, "collapse", "scale", "a real fall in range needs no more"},
    {"vanished-scale", &T::vanished_scale, "collapse-to-floor", "scale below which every gradient of fp16 vanishes",
     "2^-24 is the smallest number of float16"},
    {"stuck-overflows", &T::stuck_overflows, "stuck-at-floor",
     "overflows at one scale that does not move; one more where the run shows a hysteresis",
     "DeepSpeed, tacotron2, mindyolo: reports of users"},
    {"low-scale", &T::low_scale, "low-scale", "median scale of the last 1,000 steps",
     "gradients below 2^-24 / scale vanish"},
    {"low-scale-steps", &T::low_scale_steps, "low-scale", "steps that are needed to say so", "an excerpt tells little"},
    {"falling-octaves", &T::falling_octaves, "falling", "halvings, less the doublings",
     "GLM-130B: its scale fell 30 steps before its loss"},
    {"falling-steps", &T::falling_steps, "falling", "steps in which they come", "as above"},
    {"overflow-share", &T::overflow_share, "too-many-overflows",
     "share of steps that are skipped; more where windows are short", "fairseq's reports: 0.4 % healthy, 2.3 % not"},
    {"overflow-share-steps", &T::overflow_share_steps, "too-many-overflows", "steps over which it is counted",
     "as above"},
    {"backoff-octaves", &T::backoff_octaves, "backoffs-at-once", "halvings a step that one back-off may take",
     "factors of 0.5, and 0.1 of those who set it"},
    {"ceiling-hits", &T::ceiling_hits, "oscillating", "growths to one scale that overflow at once", "normal"},
    {"frozen-windows", &T::frozen_windows, "frozen", "windows without overflow and growth", "a growth is due in one"},
    {"frozen-steps", &T::frozen_steps, "frozen", "steps of that kind where no window is known",
     "the longest usual window is 2,000"},
    {"exploding-scale", &T::exploding_scale, "exploding", "scale", "2^24 is Apex's ceiling"},
    {"exploding-growths", &T::exploding_growths, "exploding", "growths without an overflow",
     "tr8b-104B before its end"},
    {"manual-share", &T::manual_share, "manual-growth",
     "of the usual window: a growth before that is none of the rule's", "a rule grows after a whole window"},
    {"search-clean-steps", &T::search_clean_steps, "initial-search", "clean steps that end it",
     "published starts: overflows lie closer"},
    {"search-halvings", &T::search_halvings, "initial-search", "halvings at most", "2^32 to 2^8"},
    {"search-least-scale", &T::search_least_scale, "initial-search", "scale where it must end", "CogVideo, tacotron2"},
    {"loss-ratio", &T::loss_ratio, "loss-spike", "of the least loss, over loss-reports", "tr8-104B, 1 and 2"},
    {"loss-reports", &T::loss_reports, "loss-spike", "reports in a row", "as above"},
    {"loss-jump", &T::loss_jump, "loss-spike", "of the least loss, in one report", "tr8-104B, 11"},
    {"loss-diverged", &T::loss_diverged, "diverged", "of the least loss, until the end", "as above"},
    {"loss-diverged-steps", &T::loss_diverged_steps, "diverged", "steps", "as above"},
    {"nan-reports", &T::nan_reports, "nan-loss", "losses in a row that are NaN though the step was not skipped",
     "an overflow's own loss may be NaN"},
    {"nan-reports-at-start", &T::nan_reports_at_start, "nan-gradients",
     "gradient norms in a row that are no number, from the first on, or means, where nothing tells a scale; losses, "
     "too, "
     "if numbers follow",
     "torch's 2^16 takes 16 overflows to come down to 1"},
    {"norm-ratio", &T::norm_ratio, "norm-spike", "of the median of the last 100 gradient norms",
     "tr8-104B, 11: 20, one step ahead of the loss"},
    {"restarts", &T::restarts, "restart-loop", "starts that end near one step", "OPT-175B"},
    {"restart-share", &T::restart_share, "restart-loop", "of that step: how near", "as above"},
});

}  // namespace

std::span<const ThresholdFacts> threshold_table() {
  return threshold_rows;
}

void set_threshold(Thresholds& thresholds, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string_view name = assignment.substr(0, equals);
  for (const ThresholdFacts& fact : threshold_rows) {
    if (fact.name != name) continue;
    const auto value =
        equals == std::string_view::npos ? std::nullopt : parse_number(std::string(assignment.substr(equals + 1)));
    if (!value || std::isnan(*value)) {
      throw Error(Status::invalid_argument, fmt::format("'{}' sets no threshold", assignment),
                  fmt::format("{}=NUMBER: {}", name, fact.meaning));
    }
    thresholds.*fact.value = *value;
    return;
  }
  std::vector<std::string> names;
  for (const ThresholdFacts& fact : threshold_rows) names.emplace_back(fact.name);
  const std::string_view meant = nearest(std::string(name), names);
  throw Error(Status::invalid_argument, fmt::format("there is no threshold '{}'", name),
              fmt::format("{}they are {}", meant.empty() ? "" : fmt::format("did you mean {}? ", meant),
                          fmt::join(names, ", ")));
}

}  // namespace tare
