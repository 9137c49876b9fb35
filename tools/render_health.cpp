#include "tools/render_health.hpp"

#include <fmt/format.h>

#include "lib/base/text.hpp"
#include "lib/health/rules.hpp"

using namespace tare;

namespace {

Style style_in_health(Severity severity) {
  if (severity == Severity::error) return Style::bad;
  return severity == Severity::warning ? Style::warning : Style::plain;
}

/// "run/log.txt:331, step 17"
std::string place_of(const HealthFinding& finding) {
  std::string place = escaped(finding.file);
  if (finding.line != 0) place += fmt::format(":{}", finding.line);
  if (!finding.path.empty()) place += (place.empty() ? "" : ", ") + escaped(finding.path);
  if (finding.step) place += fmt::format("{}step {}", place.empty() ? "" : ", ", *finding.step);
  return place;
}

std::string healthy_text(const Terminal& terminal, const TraceCheckpoint& checkpoint) {
  std::string text = fmt::format("last healthy checkpoint: {}", terminal.styled(Style::good, escaped(checkpoint.path)));
  if (checkpoint.step) text += fmt::format(", step {}", *checkpoint.step);
  if (const auto scale = checkpoint.scale()) text += fmt::format(", scale {}", float_text(*scale));
  return text + "\n";
}

}  // namespace

std::string render_finding(const Terminal& terminal, const HealthFinding& finding) {
  std::string text =
      fmt::format("{}: {} [{}]\n", terminal.styled(style_in_health(finding.severity), name(finding.severity)),
                  escaped(finding.message), finding.code);
  const std::string place = place_of(finding);
  if (!place.empty()) text += fmt::format("  at {}\n", place);
  if (!finding.advice.empty()) text += fmt::format("  {}\n", terminal.styled(Style::faint, escaped(finding.advice)));
  return text;
}

std::string render_diagnosis(const Terminal& terminal, const Diagnosis& diagnosis) {
  std::string text;
  for (const HealthFinding& finding : diagnosis.findings) text += render_finding(terminal, finding);
  if (diagnosis.last_healthy) text += healthy_text(terminal, *diagnosis.last_healthy);
  return text;
}

std::string render_rules(const Terminal& terminal) {
  std::string text;
  for (const Rule& rule : rules()) {
    text += fmt::format("{} ({}, of {}): {}\n", terminal.styled(style_in_health(rule.severity), rule.code),
                        name(rule.severity), name(rule.looks_at), rule.meaning);
    for (const ThresholdFacts& fact : threshold_table()) {
      if (fact.rule != rule.code) continue;
      text += fmt::format("    --threshold {}={}  {} ({})\n", fact.name, Thresholds{}.*fact.value, fact.meaning,
                          fact.source);
    }
  }
  return text;
}
