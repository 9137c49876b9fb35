// Growths that no window explains: icefall's script doubles small scales itself, and users set scales.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "lib/health/look.hpp"

namespace tare {
namespace {

/// Growths after as many clean steps each that show a window.
constexpr std::size_t least_alike = 3;
/// icefall's train.py leaves GradScaler's own interval, and doubles a small scale every hundred batches besides.
constexpr std::string_view kind_that_doubles = "icefall-log";
constexpr double window_there = 2000;
/// metaseq's window halves with each overflow, mindformers' comes from a list.
constexpr auto moving_windows = std::to_array<std::string_view>({"fairseq-log", "mindformers-log"});

/// The clean steps that most growths came after; 0: no three are alike.
double usual_window(const Examination& run) {
  if (is_of_kind(run, kind_that_doubles)) return window_there;
  if (std::ranges::any_of(moving_windows, [&](std::string_view kind) { return is_of_kind(run, kind); })) return 0;
  std::map<double, std::size_t> counts;
  for (const ToldGrowth& growth : run.course.growths) ++counts[growth.clean];
  const auto most = std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
  return most == counts.end() || most->second < least_alike ? 0 : most->first;
}

}  // namespace

void look_for_manual_growth(const Examination& run, std::vector<Symptom>& found) {
  const double usual = usual_window(run);
  const double limit = run.thresholds.manual_share * usual - static_cast<double>(run.course.stride);
  const auto is_early = [&](const ToldGrowth& growth) { return growth.clean < limit; };
  const auto& growths = run.course.growths;
  const auto first = std::ranges::find_if(growths, is_early);
  if (first == growths.end()) return;
  const auto count = std::ranges::count_if(growths, is_early);
  found.push_back(
      {"manual-growth",
       fmt::format("{} growth{} came long before the window of {} was full, the first after {} clean steps: "
                   "a rule waits for the whole of it; the scale was set, or the window",
                   count, count == 1 ? "" : "s", usual, first->clean),
       first->at,
       {{"growths", static_cast<double>(count)}, {"clean", first->clean}, {"window", usual}}});
}

}  // namespace tare
