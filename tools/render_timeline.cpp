#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/holds.hpp"
#include "lib/base/text.hpp"
#include "tools/render_health.hpp"
#include "tools/table.hpp"

using namespace tare;

namespace {

/// Of the first scaler, and two values of the others at most.
std::string scales_text(const TraceCheckpoint& checkpoint) {
  constexpr std::size_t most_others = 2;
  const auto scale = checkpoint.scale();
  std::string text = scale ? float_text(*scale) : "-";
  for (std::size_t i = 0; i < checkpoint.other_scales.size(); ++i) {
    if (i == most_others) return text + ", ...";
    text += ", " + float_text(checkpoint.other_scales[i]);
  }
  return text;
}

using Fields = decltype(TraceCheckpoint::fields);

/// Settings, which stay from checkpoint to checkpoint; none of a single one.
Fields settings_of(const Timeline& timeline) {
  if (timeline.rows.size() < 2) return {};
  Fields settings = timeline.rows.front().checkpoint.fields;
  for (const TimelineRow& row : timeline.rows) {
    std::erase_if(settings, [&](const auto& field) { return !holds(row.checkpoint.fields, field); });
  }
  return settings;
}

/// What changes from checkpoint to checkpoint.
std::string fields_text(const Fields& settings, const TraceCheckpoint& checkpoint) {
  std::string text;
  for (const auto& field : checkpoint.fields) {
    if (field.first == "scale" || holds(settings, field)) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", escaped(field.first), field.second);
  }
  return text;
}

/// Without the folder that was asked for.
std::string path_text(const Timeline& timeline, const std::string& path) {
  const std::string& target = timeline.targets.front();
  const bool is_inside = path.size() > target.size() + 1 && path.starts_with(target) && path[target.size()] == '/';
  return escaped(is_inside ? path.substr(target.size() + 1) : path);
}

std::string between_text(const TimelineRow& row) {
  if (!row.lowest) return "";
  std::string text = fmt::format("{} overflow{}", row.overflows, row.overflows == 1 ? "" : "s");
  if (row.growths > 0) text += fmt::format(", {} growth{}", row.growths, row.growths == 1 ? "" : "s");
  if (*row.lowest != *row.highest) text += fmt::format(", {} .. {}", float_text(*row.lowest), float_text(*row.highest));
  return text;
}

TableRow row_of(const Timeline& timeline, const Fields& settings, const TimelineRow& row) {
  const TraceCheckpoint& checkpoint = row.checkpoint;
  const std::string note = row.is_last_healthy ? "last healthy" : row.is_sick ? "sick" : "";
  return {{checkpoint.step ? fmt::format("{}", *checkpoint.step) : "?", scales_text(checkpoint),
           fields_text(settings, checkpoint), between_text(row), note, path_text(timeline, checkpoint.path)},
          row.is_sick           ? Style::bad
          : row.is_last_healthy ? Style::good
                                : Style::plain};
}

std::string checkpoints_table(const Terminal& terminal, const Timeline& timeline) {
  constexpr std::array columns = {Align::right, Align::right, Align::left, Align::left, Align::left, Align::left};
  std::vector<TableRow> rows = {{{"step", "scale", "state", "since the one before", "", "checkpoint"}, Style::faint}};
  const Fields settings = settings_of(timeline);
  for (const TimelineRow& row : timeline.rows) rows.push_back(row_of(timeline, settings, row));
  return table(terminal, 2, columns, rows);
}

}  // namespace

std::string render_timeline(const Terminal& terminal, const Timeline& timeline, const chart::TerminalSize& size) {
  std::string text = terminal.styled(Style::strong, escaped(timeline.curve.title)) + "\n";
  const chart::Picture picture = chart::draw_in_letters(timeline.curve, size);
  for (const std::string& row : picture.curve) text += row + "\n";
  if (!picture.events.empty()) text += terminal.styled(Style::bad, picture.events) + "\n";
  if (!picture.marks.empty()) text += picture.marks + "\n";
  text += picture.steps + "\n";
  std::string legend;
  if (!picture.events.empty()) legend += "x overflow  ";
  if (!picture.marks.empty()) legend += "| checkpoint  o last healthy  ! sick";
  if (!legend.empty()) text += "        " + terminal.styled(Style::faint, legend) + "\n";
  if (!timeline.rows.empty()) text += "\n" + checkpoints_table(terminal, timeline);
  Diagnosis diagnosis{.targets = {}, .findings = timeline.findings, .last_healthy = timeline.last_healthy};
  for (HealthFinding& finding : diagnosis.findings) finding.advice.clear();  // the doctor's part
  return text + "\n" + render_diagnosis(terminal, diagnosis);
}
