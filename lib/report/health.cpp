#include "lib/report/health.hpp"

#include <cmath>

#include "lib/health/rules.hpp"
#include "lib/report/json.hpp"

namespace tare {
namespace {

using report::Json;
using report::Members;

Json rule_json(const Rule& rule) {
  Members members;
  members.add("code", rule.code).add("severity", name(rule.severity)).add("looks_at", name(rule.looks_at));
  members.add("meaning", rule.meaning).add("advice", rule.advice);
  return members.take();
}

Json threshold_json(const ThresholdFacts& fact) {
  Members members;
  members.add("name", fact.name).add("value", Thresholds{}.*fact.value).add("rule", fact.rule);
  members.add("meaning", fact.meaning).add("source", fact.source);
  return members.take();
}

}  // namespace

Json report::health_checkpoint(const std::optional<TraceCheckpoint>& checkpoint) {
  if (!checkpoint) return {};
  Members fields;
  for (const auto& [key, value] : checkpoint->fields) fields.add(report::safe_text(key), value);
  Members members;
  report::add_text(members, "path", checkpoint->path);
  members.add("step", json::step_json(checkpoint->step))
      .add("dialect", checkpoint->dialect)
      .add("fields", fields.take());
  return members.take();
}

std::string findings_json(const Diagnosis& diagnosis, const std::vector<Pending>& unfinished) {
  Members members =
      json::findings_members(diagnosis.targets, diagnosis.findings, report::health_checkpoint(diagnosis.last_healthy));
  members.add("pending", report::pending(unfinished));
  return report::text_of(members.take());
}

std::string rules_json() {
  Members members;
  members.add("schema", "tare.rules/1");
  members.add("rules", report::list_of(rules(), rule_json));
  members.add("thresholds", report::list_of(threshold_table(), threshold_json));
  return report::text_of(members.take());
}

}  // namespace tare
