#include "lib/report/json.hpp"
#include "lib/report/report.hpp"

namespace tare {
namespace {

using report::Json;

std::string_view name(HistoryState state) {
  switch (state) {
    case HistoryState::applied:
      return "applied";
    case HistoryState::undone:
      return "undone";
    case HistoryState::damaged:
      break;
  }
  return "damaged";
}

Json entry_json(const HistoryEntry& entry) {
  Json json{
      {"number", entry.number}, {"when", entry.when}, {"undone_when", entry.undone_when}, {"state", name(entry.state)}};
  report::set_text(json, "folder", entry.folder);
  json["files"] = Json::array();
  for (const std::string& file : entry.files) json["files"].push_back(report::safe_text(file));
  json["fields"] = Json::array();
  for (const FieldEdit& edit : entry.fields) json["fields"].push_back(report::field_edit(edit));
  return json;
}

Json optional_value(const std::optional<Value>& value) {
  return value ? report::value(*value) : Json(nullptr);
}

Json optional_type(const std::optional<Value>& value) {
  return value ? Json(value->type) : Json(nullptr);
}

}  // namespace

std::string history_json(const std::string& target, const std::vector<HistoryEntry>& entries,
                         const std::optional<Pending>& pending) {
  Json json{{"schema", "tare.history/1"}};
  report::set_text(json, "target", target);
  json["pending"] = report::pending(pending);
  json["edits"] = Json::array();
  for (const HistoryEntry& entry : entries) json["edits"].push_back(entry_json(entry));
  return report::text_of(json);
}

std::string diff_json(const Checkpoint& a, const Checkpoint& b, const std::vector<Difference>& differences) {
  Json json{{"schema", "tare.diff/1"}};
  report::set_text(json, "a", a.resolved);
  report::set_text(json, "b", b.resolved);
  json["same"] = differences.empty();
  json["differences"] = Json::array();
  for (const Difference& difference : differences) {
    Json item{{"dialect", difference.dialect}};
    report::set_text(item, "path", difference.path);
    report::set_text(item, "field", difference.field);
    item["a"] = optional_value(difference.a);
    item["b"] = optional_value(difference.b);
    item["type_a"] = optional_type(difference.a);
    item["type_b"] = optional_type(difference.b);
    json["differences"].push_back(std::move(item));
  }
  return report::text_of(json);
}

}  // namespace tare
