#include <fmt/format.h>

#include <algorithm>

#include "lib/base/text.hpp"
#include "lib/trace/told_once.hpp"
#include "tools/render.hpp"
#include "tools/table.hpp"

using namespace tare;

namespace {

constexpr std::size_t rows_most = 200;

std::string number_or_dash(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "-";
}
std::string number_or_dash(const std::optional<double>& value) {
  return value ? float_text(*value) : "";
}

/// What became of the steps of one line.
std::string told(const TraceStep& step) {
  if (step.fatal) return "overflow: the run ends";
  if (step.span > 1 && step.skipped.value_or(0) > 0) return fmt::format("{} of {} skipped", *step.skipped, step.span);
  if (step.overflow.value_or(false)) return "overflow";
  return step.smoothed ? "mean or rounded" : "";
}

bool is_news(const TraceStep& step, const std::optional<double>& scale) {
  if (step.fatal || step.overflow.value_or(false) || step.skipped.value_or(0) > 0) return true;
  const auto shown = step.after ? step.after : step.scale ? step.scale : step.smoothed;
  return shown && shown != scale;
}

struct Sum {
  std::size_t items = 0, news = 0;
  std::optional<std::uint64_t> skipped;  ///< nothing where no line tells
  std::optional<double> first, least, most, last;
  std::optional<double> rounded;  ///< what the last line that tells of the scale prints below its decimals
};

Sum sum_of(const Trace& trace) {
  Sum sum;
  ToldOnce once(trace);
  for (const TraceStep& step : trace.steps) {
    ++sum.items;
    const TraceStep rest = once.rest_of(step);
    if (rest.skipped || rest.overflow) {
      sum.skipped = sum.skipped.value_or(0) + (rest.skipped ? *rest.skipped : std::uint64_t{*rest.overflow});
    }
    for (const auto& scale : {step.scale, step.after}) {
      if (!scale) continue;
      if (!sum.first) sum.first = scale;
      sum.least = std::min(sum.least.value_or(*scale), *scale);
      sum.most = std::max(sum.most.value_or(*scale), *scale);
      sum.last = scale;
    }
    if (step.scale || step.after || step.smoothed)
      sum.rounded = step.scale || step.after ? std::nullopt : step.smoothed;
  }
  return sum;
}

}  // namespace

std::string render_trace(const Terminal& terminal, const Trace& trace) {
  std::string text;
  for (const TraceSource& source : trace.sources) {
    text += fmt::format("{}  {}{}\n", terminal.styled(Style::strong, escaped(source.path)), source.kind,
                        source.tag.empty() ? "" : fmt::format("  {}", escaped(source.tag)));
  }
  for (std::size_t i = 0; i < trace.segments.size(); ++i) {
    const TraceSegment& segment = trace.segments[i];
    if (!segment.first) continue;
    text += fmt::format("segment {}: {}s {} to {}", i, trace.unit, number_or_dash(segment.first),
                        number_or_dash(segment.last));
    if (segment.kept != segment.last) text += fmt::format(", kept up to {}", number_or_dash(segment.kept));
    text += '\n';
  }
  if (trace.steps.empty()) return text + "no trace of a loss scale\n";
  const Sum sum = sum_of(trace);
  text += fmt::format("{} told", sum.items);
  if (sum.skipped) text += fmt::format(", {} skipped", *sum.skipped);
  if (sum.first) {
    const bool ends_rounded = sum.rounded.value_or(1) < 1;
    text += fmt::format("; scale {} at first, {}{} at last, {} to {}", float_text(*sum.first),
                        float_text(ends_rounded ? *sum.rounded : *sum.last), ends_rounded ? " (rounded)" : "",
                        float_text(*sum.least), float_text(*sum.most));
  }
  text += "\n\n";
  std::vector<TableRow> rows{{{trace.unit, "scale", "after", "", "line"}, Style::faint}};
  std::optional<double> scale;
  std::size_t hidden = 0;
  std::uint32_t segment = 0;
  for (const TraceStep& step : trace.steps) {
    const bool is_restart = step.segment != segment;
    segment = step.segment;
    if (is_restart || is_news(step, scale)) {
      if (rows.size() > rows_most) {
        ++hidden;
      } else {
        const auto shown = step.after ? number_or_dash(step.after) : number_or_dash(step.smoothed);
        rows.push_back(
            {{number_or_dash(step.step), number_or_dash(step.scale), shown, (is_restart ? "resumed " : "") + told(step),
              step.line == 0 ? "" : std::to_string(step.line)}});
      }
    }
    const auto now = step.after ? step.after : step.scale ? step.scale : step.smoothed;
    if (now) scale = now;
  }
  constexpr Align columns[] = {Align::right, Align::right, Align::right, Align::left, Align::right};
  text += table(terminal, 0, columns, rows);
  if (hidden > 0) text += fmt::format("... and {} more changes: --json and --csv tell all\n", hidden);
  return text;
}
