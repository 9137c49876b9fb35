// SARIF 2.1.0 (OASIS): findings in the form that code hosts and editors show.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "lib/health/rules.hpp"
#include "lib/report/health.hpp"
#include "lib/report/json.hpp"

namespace tare {
namespace {

using report::Array;
using report::Json;
using report::Members;

constexpr const char* schema = "https://json.schemastore.org/sarif-2.1.0.json";

Json text(std::string_view words) {
  return Members().add("text", report::safe_text(std::string(words))).take();
}

/// A path as a relative or absolute URI reference: what RFC 3986 reserves is written in hex.
std::string uri_of(const std::string& path) {
  std::string uri;
  for (const char letter : path) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
                          std::string_view("-._~/").find(letter) != std::string_view::npos;
    uri += is_plain ? std::string(1, letter) : fmt::format("%{:02X}", static_cast<unsigned char>(letter));
  }
  return uri.starts_with('/') ? "file://" + uri : uri;
}

Json sarif_rule(const std::string& code) {
  Members members;
  members.add("id", code);
  const Rule* rule = find_rule(code);
  members.add("shortDescription", text(rule == nullptr ? std::string_view(code) : rule->meaning));
  if (rule != nullptr) {
    if (!rule->advice.empty()) members.add("help", text(rule->advice));
    members.add("defaultConfiguration", Members().add("level", name(rule->severity)).take());
  }
  return members.take();
}

Json location_json(const HealthFinding& finding) {
  Members physical;
  physical.add("artifactLocation", Members().add("uri", uri_of(finding.file)).take());
  if (finding.line != 0) physical.add("region", Members().add("startLine", report::size(finding.line)).take());
  Members location;
  location.add("physicalLocation", physical.take());
  if (!finding.path.empty()) {
    Array logical;
    logical.emplace_back(Members().add("fullyQualifiedName", report::safe_text(finding.path)).take());
    location.add("logicalLocations", std::move(logical));
  }
  return location.take();
}

Json sarif_result(const HealthFinding& finding) {
  Members members;
  members.add("ruleId", finding.code).add("level", name(finding.severity));
  const std::string advice = finding.advice.empty() ? "" : ". " + finding.advice;
  members.add("message", text(finding.message + advice));
  Array locations;
  if (!finding.file.empty()) locations.push_back(location_json(finding));
  members.add("locations", std::move(locations));
  Members properties;
  if (finding.step) properties.add("step", *finding.step);
  for (const auto& [key, value] : finding.evidence) properties.add(key, value);
  members.add("properties", properties.take());
  return members.take();
}

}  // namespace

std::string findings_sarif(const Diagnosis& diagnosis, std::string_view version) {
  std::set<std::string> codes;
  for (const HealthFinding& finding : diagnosis.findings) codes.insert(finding.code);
  Members driver;
  driver.add("name", "tare").add("version", version).add("rules", report::list_of(codes, sarif_rule));
  Members run;
  run.add("tool", Members().add("driver", driver.take()).take());
  run.add("results", report::list_of(diagnosis.findings, sarif_result));
  Array runs;
  runs.emplace_back(run.take());
  Members members;
  members.add("$schema", schema).add("version", "2.1.0").add("runs", std::move(runs));
  return report::text_of(members.take());
}

}  // namespace tare
