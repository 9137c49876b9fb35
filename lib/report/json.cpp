#include "lib/report/json.hpp"

#include <cmath>

#include "lib/base/text.hpp"

namespace tare::report {

Json value(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag;
  if (const auto* text = std::get_if<std::string>(&value.data)) return safe_text(*text);
  if (const auto* integer = std::get_if<Integer>(&value.data)) {
    return integer->is_big() ? Json(integer->decimal) : Json(integer->value);
  }
  if (const auto* number = std::get_if<double>(&value.data)) {
    return std::isfinite(*number) ? Json(*number) : Json(float_text(*number));
  }
  if (const auto* list = std::get_if<ValueList>(&value.data)) {
    Json items = Json::array();
    for (const Value& item : *list) items.push_back(report::value(item));
    return items;
  }
  return nullptr;
}

Json number(const Value& whole) {
  const Value* one = whole.number();
  return value(one == nullptr ? whole : *one);
}

std::string safe_text(const std::string& text) {
  return is_utf8(text) ? text : escaped(text);
}

void set_text(Json& object, const std::string& key, const std::string& text) {
  object[key] = safe_text(text);
  if (!is_utf8(text)) object[key + "_bytes"] = base64(text);
}

Json finding(const Finding& finding) {
  Json json{{"severity", name(finding.severity)}, {"code", finding.code}};
  set_text(json, "message", finding.message);
  set_text(json, "file", finding.file);
  set_text(json, "path", finding.path);
  return json;
}

Json field_edit(const FieldEdit& edit) {
  Json json;
  set_text(json, "file", edit.file);
  set_text(json, "path", edit.place);
  set_text(json, "field", edit.field);
  json["before"] = edit.before;
  json["after"] = edit.after;
  return json;
}

namespace {

std::string_view name(PendingState state) {
  switch (state) {
    case PendingState::in_progress:
      return "in_progress";
    case PendingState::interrupted:
      return "interrupted";
    case PendingState::unreadable:
      break;
  }
  return "unreadable";
}

}  // namespace

Json pending(const std::optional<Pending>& pending) {
  if (!pending) return nullptr;
  Json json{{"state", name(pending->state)},
            {"kind", pending->kind == JournalKind::edit ? "edit" : "undo"},
            {"number", pending->number},
            {"when", pending->when},
            {"rules", "before"}};
  set_text(json, "folder", pending->folder);
  json["files"] = Json::array();
  for (const std::string& file : pending->files) json["files"].push_back(safe_text(file));
  json["fields"] = Json::array();
  for (const FieldEdit& edit : pending->fields) json["fields"].push_back(field_edit(edit));
  return json;
}

std::string text_of(const Json& json) {
  return json.dump(2) + "\n";
}

}  // namespace tare::report
