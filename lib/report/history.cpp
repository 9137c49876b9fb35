#include "lib/report/json.hpp"
#include "lib/report/report.hpp"

namespace tare {
namespace {

using report::Json;
using report::Members;

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
  Members members;
  members.add("number", report::size(entry.number));
  members.add("when", entry.when);
  members.add("undone_when", entry.undone_when);
  members.add("state", name(entry.state));
  members.add("sealed", entry.is_own);
  report::add_text(members, "id", entry.id);
  report::add_origin(members, entry.origin);
  report::add_text(members, "folder", entry.folder);
  members.add("files", report::list_of(entry.files, report::safe_text));
  members.add("fields", report::list_of(entry.fields, report::field_edit));
  return members.take();
}

Json optional_value(const std::optional<Value>& value) {
  return value ? report::value(*value) : Json();
}

Json optional_type(const std::optional<Value>& value) {
  return value ? Json(value->type) : Json();
}

Json difference_json(const Difference& difference) {
  Members members;
  members.add("dialect", difference.dialect);
  report::add_text(members, "path", difference.path);
  report::add_text(members, "field", difference.field);
  members.add("a", optional_value(difference.a));
  members.add("b", optional_value(difference.b));
  members.add("type_a", optional_type(difference.a));
  members.add("type_b", optional_type(difference.b));
  return members.take();
}

}  // namespace

void write_history_json(const std::string& target, const std::optional<Pending>& pending, const TellHistory& tell,
                        const json::TextSink& sink) {
  Members front;
  front.add("schema", "tare.history/1");
  report::add_text(front, "target", target);
  front.add("pending", report::pending(pending));
  const auto each_edit = [&](const std::function<void(const Json&)>& add) {
    tell([&](const HistoryEntry& entry) { add(entry_json(entry)); });
  };
  report::write_text(front.take(), {"edits", each_edit}, {}, sink);
}

void write_history_json(const std::string& target, const Scope& scope, const json::TextSink& sink) {
  write_history_json(
      target, find_pending(scope), [&](const auto& take) { history(scope, take); }, sink);
}

std::string diff_json(const Checkpoint& a, const Checkpoint& b, const std::vector<Difference>& differences,
                      const std::vector<Pending>& unfinished) {
  Members members;
  members.add("schema", "tare.diff/1");
  report::add_text(members, "a", a.resolved);
  report::add_text(members, "b", b.resolved);
  members.add("same", differences.empty());
  members.add("differences", report::list_of(differences, difference_json));
  members.add("pending", report::pending(unfinished));
  return report::text_of(members.take());
}

}  // namespace tare
