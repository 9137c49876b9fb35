#include "lib/report/json.hpp"

namespace tare::report {

namespace {

/// Nested lists by shape. Starts at element `next`, which it moves on.
Json nested(const PackedArray& array, std::size_t dimension, std::uint64_t& next) {
  if (dimension == array.shape().size()) return value(array.at(next++));
  Array list;
  const auto size = static_cast<std::size_t>(array.shape()[dimension]);
  list.reserve(size);
  for (std::size_t i = 0; i < size; ++i) list.push_back(nested(array, dimension + 1, next));
  return list;
}

Json elements(const PackedArray& array) {
  if (array.count() == 0) return Array();
  std::uint64_t next = 0;
  return nested(array, 0, next);
}

}  // namespace

Json value(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag;
  if (const auto* text = std::get_if<std::string>(&value.data)) return safe_text(*text);
  if (const auto* integer = std::get_if<Integer>(&value.data)) {
    return integer->is_big() ? Json(integer->decimal) : Json(std::int64_t{integer->value});
  }
  if (const auto* number = std::get_if<double>(&value.data)) return *number;
  if (const auto* list = std::get_if<ValueList>(&value.data)) return list_of(*list, report::value);
  if (const auto* array = std::get_if<PackedArray>(&value.data)) return elements(*array);
  return {};
}

Json number(const Value& whole) {
  const Value* one = whole.number();
  return value(one == nullptr ? whole : *one);
}

Json size(std::uint64_t bytes) {
  return static_cast<std::int64_t>(bytes);
}

Json finding(const Finding& finding) {
  Members members;
  members.add("severity", name(finding.severity)).add("code", finding.code);
  add_text(members, "message", finding.message);
  add_text(members, "file", finding.file);
  add_text(members, "path", finding.path);
  return members.take();
}

Json field_edit(const FieldEdit& edit) {
  Members members;
  add_text(members, "file", edit.file);
  add_text(members, "path", edit.place);
  add_text(members, "field", edit.field);
  members.add("before", edit.before).add("after", edit.after);
  return members.take();
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

void add_origin(Members& members, const Origin& origin) {
  add_text(members, "user", origin.user);
  add_text(members, "host", origin.host);
  add_text(members, "command", origin.command);
}

Json pending(const std::optional<Pending>& pending) {
  if (!pending) return {};
  Members members;
  members.add("state", name(pending->state));
  members.add("kind", name(pending->kind));
  members.add("number", size(pending->number));
  members.add("when", pending->when);
  members.add("rules", pending->is_own && pending->foreign.empty() ? "before" : "unknown");
  members.add("sealed", pending->is_own);
  add_text(members, "id", pending->id);
  add_origin(members, pending->origin);
  add_text(members, "problem", pending->problem);
  add_text(members, "folder", pending->folder);
  members.add("files", list_of(pending->files, safe_text));
  members.add("foreign", list_of(pending->foreign, safe_text));
  members.add("fields", list_of(pending->fields, field_edit));
  return members.take();
}

Json pending(const std::vector<Pending>& unfinished) {
  return list_of(unfinished, [](const Pending& one) { return pending(std::optional(one)); });
}

}  // namespace tare::report
