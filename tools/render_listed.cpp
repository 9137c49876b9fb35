#include "tools/render_listed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/text.hpp"
#include "tools/table.hpp"

using namespace tare;

namespace {

/// The kinds of what was found, the errors first, each once.
std::string codes_of(const ListedCheckpoint& checkpoint) {
  std::vector<std::string> codes;
  for (const Severity severity : {Severity::error, Severity::warning}) {
    for (const Finding& finding : checkpoint.findings) {
      if (finding.severity == severity && std::ranges::find(codes, finding.code) == codes.end()) {
        codes.push_back(finding.code);
      }
    }
  }
  return fmt::format("{}", fmt::join(codes, ", "));
}

Style style_of(const ListedCheckpoint& checkpoint) {
  const auto has = [&](Severity severity) {
    return std::ranges::any_of(checkpoint.findings, [&](const Finding& f) { return f.severity == severity; });
  };
  return has(Severity::error) ? Style::bad : has(Severity::warning) ? Style::warning : Style::plain;
}

/// The scale, or what stands for it where there is none.
std::string scale_text(const ListedCheckpoint& checkpoint) {
  if (checkpoint.scale) return float_text(*checkpoint.scale);
  return checkpoint.fp8_states > 0 ? "fp8" : "-";
}

}  // namespace

std::string render_listed(const Terminal& terminal, const std::vector<ListedCheckpoint>& checkpoints) {
  constexpr std::array columns = {Align::right, Align::right, Align::left, Align::left, Align::left};
  std::vector<TableRow> rows = {{{"step", "scale", "framework", "checkpoint", "findings"}, Style::faint}};
  for (const ListedCheckpoint& checkpoint : checkpoints) {
    rows.push_back(
        {{checkpoint.step ? fmt::format("{}", *checkpoint.step) : "?", scale_text(checkpoint),
          checkpoint.dialect.empty() ? "-" : checkpoint.dialect, escaped(checkpoint.path), codes_of(checkpoint)},
         style_of(checkpoint)});
  }
  return table(terminal, 2, columns, rows);
}
