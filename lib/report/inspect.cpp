#include <algorithm>

#include "lib/container/pickle_global.hpp"
#include "lib/report/json.hpp"
#include "lib/report/report.hpp"

namespace tare {
namespace {

using report::Json;

Json file_json(const CheckpointFile& file) {
  Json json;
  report::set_text(json, "path", file.path);
  json["container"] = file.format;
  json["size"] = file.size;
  return json;
}

void add_fields(Json& json, const FoundScaler& scaler) {
  json["fields"] = Json::object();
  json["types"] = Json::object();
  json["roles"] = Json::object();
  json["editable"] = Json::array();
  for (const Field& field : scaler.fields) {
    const std::string key = report::safe_text(field.name);
    json["fields"][key] = report::value(field.value);
    json["types"][key] = report::safe_text(field.value.type);
    if (field.role && field.value.number() != nullptr) {
      json["roles"][std::string(name(*field.role))] = report::number(field.value);
    }
    if (field.editable) json["editable"].push_back(key);
  }
}

Json scaler_json(const Checkpoint& checkpoint, const Scaler& scaler) {
  const FoundScaler& state = scaler.state();
  Json json{{"kind", state.kind}, {"dialect", state.dialect->name}};
  report::set_text(json, "path", state.path);
  json["also_at"] = Json::array();
  for (const std::string& path : state.also_at) json["also_at"].push_back(report::safe_text(path));
  json["place"] = state.place;
  json["files"] = Json::array();
  for (const ScalerCopy& copy : scaler.copies)
    json["files"].push_back(report::safe_text(checkpoint.files[copy.file].path));
  json["agree"] = scaler.agree;
  add_fields(json, state);
  return json;
}

Json globals_json(const Checkpoint& checkpoint) {
  Json list = Json::array();
  for (const CheckpointFile& file : checkpoint.files) {
    for (const GlobalName& global : file.container->globals()) {
      Json json;
      report::set_text(json, "file", file.path);
      report::set_text(json, "module", global.module);
      report::set_text(json, "name", global.name);
      json["trust"] = name(trust_of(global.module, global.name));
      list.push_back(std::move(json));
    }
  }
  return list;
}

}  // namespace

bool is_negative(const Checkpoint& checkpoint) {
  const auto& findings = checkpoint.findings;
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.severity == Severity::error; });
}

std::string inspect_json(const Checkpoint& checkpoint, const std::optional<Pending>& pending, InspectParts parts) {
  Json json{{"schema", "tare.inspect/1"}};
  report::set_text(json, "target", checkpoint.target);
  report::set_text(json, "checkpoint", checkpoint.resolved);
  json["files"] = Json::array();
  for (const CheckpointFile& file : checkpoint.files) json["files"].push_back(file_json(file));
  json["pending"] = report::pending(pending);
  json["scalers"] = Json::array();
  for (const Scaler& scaler : checkpoint.scalers) json["scalers"].push_back(scaler_json(checkpoint, scaler));
  json["findings"] = Json::array();
  for (const Finding& finding : checkpoint.findings) json["findings"].push_back(report::finding(finding));
  if (parts.globals) json["globals"] = globals_json(checkpoint);
  return report::text_of(json);
}

}  // namespace tare
