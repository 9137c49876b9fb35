#include "lib/codec/finding_json.hpp"

#include <utility>

#include "lib/base/text.hpp"

namespace tare::json {
namespace {

Json evidence_json(const HealthFinding& finding) {
  Members members;
  for (const auto& [key, value] : finding.evidence) members.add(key, value);
  return members.take();
}

}  // namespace

std::string safe_text(const std::string& text) {
  return is_utf8(text) ? text : escaped(text);
}

void add_text(Members& object, const std::string& key, const std::string& text) {
  object.add(key, safe_text(text));
  if (!is_utf8(text)) object.add(key + "_bytes", base64(text));
}

Json step_json(const std::optional<std::int64_t>& step) {
  return step ? Json(*step) : Json();
}

Json health_finding(const HealthFinding& finding) {
  Members members;
  members.add("severity", name(finding.severity)).add("code", finding.code);
  add_text(members, "message", finding.message);
  add_text(members, "advice", finding.advice);
  add_text(members, "file", finding.file);
  add_text(members, "path", finding.path);
  members.add("line", finding.line == 0 ? Json() : Json(static_cast<std::int64_t>(finding.line)));
  members.add("step", step_json(finding.step)).add("evidence", evidence_json(finding));
  return members.take();
}

Members findings_members(const std::vector<std::string>& targets, std::span<const HealthFinding> findings,
                         Json last_healthy) {
  Array told_targets;
  told_targets.reserve(targets.size());
  for (const std::string& target : targets) told_targets.emplace_back(safe_text(target));
  Array told;
  told.reserve(findings.size());
  for (const HealthFinding& finding : findings) told.push_back(health_finding(finding));
  Members members;
  members.add("schema", "tare.findings/1");
  members.add("targets", std::move(told_targets)).add("findings", std::move(told));
  members.add("last_healthy", std::move(last_healthy));
  return members;
}

}  // namespace tare::json
