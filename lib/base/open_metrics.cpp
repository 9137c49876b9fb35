#include "lib/base/open_metrics.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

namespace tare {
namespace {

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

}  // namespace

std::string OpenMetrics::label(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped.push_back('\\');
    escaped.append(c == '\n' ? "\\n" : std::string(1, c));
  }
  return escaped;
}

void OpenMetrics::family(std::string_view name, std::string_view type, std::string_view help) {
  text_ += fmt::format("# TYPE {} {}\n# HELP {} {}\n", name, type, name, help);
}

void OpenMetrics::sample(std::string_view name, double value, std::string_view more) {
  text_ += fmt::format("{}{{run=\"{}\"{}}} {}\n", name, run_, more, number(value));
}

void OpenMetrics::gauge(std::string_view name, std::string_view help, const std::optional<double>& value) {
  if (!value) return;
  family(name, "gauge", help);
  sample(name, *value);
}

void OpenMetrics::counter(const std::string& name, std::string_view help, std::uint64_t value) {
  family(name, "counter", help);
  sample(name + "_total", static_cast<double>(value));
}

void OpenMetrics::findings(std::span<const HealthFinding> findings) {
  std::map<std::string, double> counts{{"error", 0}, {"warning", 0}, {"note", 0}};
  std::map<std::pair<std::string, std::string>, double> codes;
  for (const HealthFinding& finding : findings) {
    ++counts[std::string(name(finding.severity))];
    ++codes[{finding.code, std::string(name(finding.severity))}];
  }
  family("tare_findings", "gauge", "What is wrong now, by severity.");
  for (const auto& [severity, count] : counts) {
    sample("tare_findings", count, fmt::format(",severity=\"{}\"", severity));
  }
  if (codes.empty()) return;
  family("tare_finding", "gauge", "What is wrong now, by code.");
  for (const auto& [code, count] : codes) {
    sample("tare_finding", count, fmt::format(",code=\"{}\",severity=\"{}\"", label(code.first), code.second));
  }
}

}  // namespace tare
