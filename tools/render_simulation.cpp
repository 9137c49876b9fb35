#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/base/text.hpp"
#include "tools/render_health.hpp"
#include "tools/table.hpp"

using namespace tare;

namespace {

constexpr std::size_t most_alike = 5;

/// "12", or "3..40" where it is not known exactly.
std::string range_text(const Between& range, const char* format = "{:.0f}") {
  const std::string least = fmt::format(fmt::runtime(format), range.least);
  const std::string most = fmt::format(fmt::runtime(format), range.most);
  return least == most ? least : least + ".." + most;
}

std::string share_text(const Between& range, std::uint64_t steps) {
  const double all = std::max(static_cast<double>(steps), 1.0);
  return range_text({100 * range.least / all, 100 * range.most / all}, "{:.1f}") + " %";
}

std::string death_text(const Simulated& result) {
  if (result.dies_surely) return fmt::format("at step {}", result.first_death.value_or(0));
  if (!result.dies_possibly) return "-";
  return result.first_death ? fmt::format("perhaps, from step {}", *result.first_death) : "perhaps";
}

TableRow row_of(const SimulatedRun& run) {
  const Simulated& result = run.result;
  const bool is_bounded = result.bounded_until == result.steps;
  return {{text_of(run.setting), range_text(result.skipped), share_text(result.below, result.steps),
           is_bounded ? range_text(result.mean_log2, "{:.2f}") : "?", death_text(result),
           is_bounded ? "" : fmt::format("open from step {}", result.bounded_until)}};
}

/// Of the run itself, where the scale of nearly every step is told.
std::string mean_text(const ObservedRun& run) {
  constexpr double nearly = 0.9;
  const auto told = static_cast<double>(run.log2_count);
  if (run.log2_count == 0 || told < nearly * static_cast<double>(run.count)) return "?";
  return fmt::format("{}{:.2f}", run.is_rough || run.log2_count != run.count ? "~" : "", run.log2_sum / told);
}

TableRow trace_row(const Simulation& simulation) {
  const ObservedRun& run = simulation.observed;
  const auto below = static_cast<double>(run.below);
  const auto skipped = static_cast<double>(run.overflows);
  return {{"the run itself", range_text({skipped, skipped + static_cast<double>(run.untold_skips)}),
           share_text({below, below + static_cast<double>(run.untold_scales)}, run.count), mean_text(run), "", ""},
          Style::strong};
}

std::string caveats(const ObservedRun& run) {
  std::string text;
  if (run.unknown > 0) text += fmt::format("{} steps tell nothing of their gradients\n", run.unknown);
  if (run.taken_as_clean > 0) {
    text += fmt::format("{} steps are taken for clean, because the scale did not fall in them\n", run.taken_as_clean);
  }
  if (run.incurable > 0)
    text += fmt::format("{} steps are NaN at any scale: every setting skips them\n", run.incurable);
  return text;
}

/// What the answer does not hold, and what would decide.
std::string cut_text(const Explanation& explained) {
  if (!explained.is_cut) return "";
  std::string text = "the search was cut: ";
  if (explained.left_open > 0) {
    text += fmt::format("{} of {} settings are undecided, and ", explained.left_open, explained.tried);
  }
  return text +
         "others may reproduce the trace as well; a log that counts the skipped steps of each line, or tells the scale "
         "of every step, decides\n";
}

/// What a run that was told of at some of its steps alone leaves open, whatever explains it.
std::string unseen_text(const Explanation& explained) {
  if (explained.unseen == 0) return "";
  return fmt::format("of {} step{} between its readings nothing is told: what the scale did in them is open\n",
                     explained.unseen, explained.unseen == 1 ? "" : "s");
}

std::string explained_text(const Terminal& terminal, const Explanation& explained) {
  if (!explained.has_moved) {
    return "the scale never moves in this trace: every policy whose window is longer reproduces it\n";
  }
  if (explained.exact.empty()) {
    std::string text = fmt::format("none of {} settings reproduces the trace", explained.tried - explained.left_open);
    if (!explained.nearest) return text + "\n" + cut_text(explained);
    const Contradiction& first = explained.first_contradiction;
    text += fmt::format("; nearest is {}\nfirst contradiction at ", text_of(*explained.nearest));
    text += first.step ? fmt::format("step {}", *first.step) : fmt::format("line {}", first.line);
    return text +
           fmt::format(": the trace has scale {}, the rule {}\n", float_text(first.told), float_text(first.expected)) +
           cut_text(explained);
  }
  std::string text =
      fmt::format("{} reproduces all {} readings exactly{}\n",
                  terminal.styled(Style::good, text_of(explained.exact.front())), explained.readings,
                  explained.from_reading == 0 ? "" : fmt::format(" (from reading {} on)", explained.from_reading + 1));
  for (std::size_t i = 1; i < std::min(explained.exact.size(), most_alike); ++i) {
    text += fmt::format("  so does {}\n", text_of(explained.exact[i]));
  }
  if (!explained.has_grown) {
    text += fmt::format("no growth is told: every window longer than {:.0f} clean steps does the same\n",
                        explained.longest_clean);
  }
  if (explained.exact.size() > most_alike) text += fmt::format("  and {} more\n", explained.exact.size() - most_alike);
  return text + cut_text(explained);
}

}  // namespace

std::string render_simulation(const Terminal& terminal, const Simulation& simulation) {
  std::string text;
  if (!simulation.runs.empty()) {
    constexpr std::array columns = {Align::left, Align::right, Align::right, Align::right, Align::left, Align::left};
    std::vector<TableRow> rows = {
        {{"setting", "skipped", fmt::format("below {}", simulation.below), "mean log2", "dies", ""}, Style::faint},
        trace_row(simulation)};
    for (const SimulatedRun& run : simulation.runs) rows.push_back(row_of(run));
    text += fmt::format("{} steps; where a range stands, the trace does not tell more\n", simulation.observed.count);
    text += table(terminal, 2, columns, rows) + caveats(simulation.observed);
  }
  if (simulation.explained)
    text += explained_text(terminal, *simulation.explained) + unseen_text(*simulation.explained);
  return text;
}
