#include "lib/codec/json.hpp"
#include "lib/report/json.hpp"
#include "lib/report/report.hpp"

namespace tare {
namespace {

using report::Json;
using report::Members;

Json value_json(const StateValue& value) {
  return json::parse(value_to_json(value), "a value", Status::internal);
}

Json role_json(const std::optional<Role>& role) {
  return role ? Json(name(*role)) : Json();
}

Json converted_json(const ConvertedValue& value) {
  Members members;
  members.add("fate", name(value.outcome));
  report::add_text(members, "key", value.key);
  report::add_text(members, "source_key", value.source_key);
  members.add("role", role_json(value.role));
  members.add("before", value_json(value.before)).add("after", value_json(value.after));
  report::add_text(members, "why", value.why);
  return members.take();
}

Json divergence_json(const std::optional<Divergence>& divergence) {
  if (!divergence) return {};
  Members members;
  members.add("usual", divergence->is_usual).add("sentence", sentence(*divergence));
  members.add("sequence", divergence->sequence).add("step", divergence->step);
  members.add("source_scale", divergence->scale).add("target_scale", divergence->other);
  members.add("why", divergence->why);
  return members.take();
}

void add_conversion(Members& members, const Conversion& conversion) {
  members.add("policy", conversion.state.policy);
  members.add("values", report::list_of(conversion.values, converted_json));
  members.add("warnings", report::list_of(conversion.warnings, report::safe_text));
  members.add("divergence", divergence_json(conversion.divergence));
  members.add("usual_divergence", divergence_json(conversion.usual_divergence));
}

Json configured_setting_json(const Configured& configured) {
  Members members;
  members.add("role", role_json(configured.role)).add("name", configured.name);
  members.add("value", value_json(configured.value));
  members.add("how", configured.sentence);
  return members.take();
}

}  // namespace

std::string findings_json(const std::vector<Finding>& findings) {
  Members members;
  members.add("schema", "tare.findings/1");
  members.add("findings", report::list_of(findings, report::finding));
  return report::text_of(members.take());
}

std::string conversion_json(const Conversion& conversion) {
  Members members;
  members.add("schema", "tare.conversion/1");
  add_conversion(members, conversion);
  return report::text_of(members.take());
}

std::string migrate_json(const Migration& migration, const MigrationOutcome& outcome) {
  Members members;
  members.add("schema", "tare.migrate/1");
  report::add_text(members, "source", outcome.source);
  report::add_text(members, "target", outcome.target);
  members.add("written", outcome.is_written);
  add_conversion(members, migration.conversion);
  members.add("configured", report::list_of(migration.configured, configured_setting_json));
  members.add("flags", migration.flags.empty() ? Json() : Json(migration.flags));
  const bool is_edit = outcome.checkpoint != nullptr && outcome.edit != nullptr;
  members.add("edit", is_edit ? report::edit(*outcome.checkpoint, *outcome.edit, outcome.receipt) : Json());
  return report::text_of(members.take());
}

}  // namespace tare
