#include <fmt/format.h>

#include "lib/report/json.hpp"
#include "lib/report/report.hpp"

namespace tare {
namespace {

using report::Json;

std::string hex(const Bytes& bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

Json change_json(const FileEdit& edit) {
  Json json;
  report::set_text(json, "file", edit.path);
  json["patches"] = Json::array();
  for (const Patch& patch : edit.change.patches) {
    json["patches"].push_back({{"offset", patch.offset},
                               {"before", hex(patch.before)},
                               {"after", hex(patch.after)},
                               {"meaning", report::safe_text(patch.meaning)}});
  }
  if (const auto& append = edit.change.append) {
    json["append"] = {{"offset", append->old_size},
                      {"bytes", append->body.size() + append->commit.size()},
                      {"meaning", report::safe_text(append->meaning)}};
  }
  if (const auto& splice = edit.change.splice) {
    json["rewrite"] = {{"offset", splice->offset},
                       {"bytes_before", splice->before.size()},
                       {"bytes_after", splice->after.size()},
                       {"meaning", report::safe_text(splice->meaning)}};
  }
  return json;
}

Json field_json(const PlannedField& field) {
  Json json{{"dialect", field.dialect}};
  report::set_text(json, "path", field.path);
  report::set_text(json, "field", field.field);
  json["before"] = report::value(field.before);
  json["after"] = report::value(field.after);
  json["type_before"] = field.before.type;
  json["type_after"] = field.after.type;
  json["files"] = Json::array();
  for (const std::string& file : field.files) json["files"].push_back(report::safe_text(file));
  return json;
}

}  // namespace

std::string edit_json(const Checkpoint& checkpoint, const EditPlan& plan, const std::optional<Receipt>& receipt) {
  Json json{{"schema", "tare.edit/1"}};
  report::set_text(json, "target", checkpoint.target);
  report::set_text(json, "checkpoint", checkpoint.resolved);
  json["applied"] = receipt.has_value();
  json["number"] = receipt ? Json(receipt->number) : Json(nullptr);
  json["fields"] = Json::array();
  for (const PlannedField& field : plan.fields) json["fields"].push_back(field_json(field));
  json["changes"] = Json::array();
  for (const FileEdit& edit : plan.files) json["changes"].push_back(change_json(edit));
  json["findings"] = Json::array();
  if (receipt) {
    for (const Finding& finding : receipt->findings) json["findings"].push_back(report::finding(finding));
  }
  return report::text_of(json);
}

std::string undo_json(const std::string& target, const UndoResult& result) {
  Json json{{"schema", "tare.undo/1"}};
  report::set_text(json, "target", target);
  json["did"] = result.kind == UndoKind::undone ? "undone" : "rolled_back";
  json["number"] = result.number;
  json["files"] = Json::array();
  for (const std::string& file : result.files) json["files"].push_back(report::safe_text(file));
  json["fields"] = Json::array();
  for (const FieldEdit& edit : result.fields) json["fields"].push_back(report::field_edit(edit));
  return report::text_of(json);
}

}  // namespace tare
