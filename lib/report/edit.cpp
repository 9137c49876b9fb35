#include <fmt/format.h>

#include "lib/report/json.hpp"
#include "lib/report/report.hpp"

namespace tare {
namespace {

using report::Array;
using report::Json;
using report::Members;

std::string hex(ByteView bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

Json patch_json(const Patch& patch) {
  Members members;
  members.add("offset", report::size(patch.offset));
  members.add("before", hex(patch.before));
  members.add("after", hex(patch.after));
  members.add("meaning", report::safe_text(patch.meaning));
  return members.take();
}

Json append_json(const Append& append) {
  Members members;
  members.add("offset", report::size(append.old_size));
  members.add("bytes", report::size(append.body.size() + append.commit.size()));
  members.add("meaning", report::safe_text(append.meaning));
  return members.take();
}

Json rewrite_json(const Splice& splice) {
  Members members;
  members.add("offset", report::size(splice.offset));
  members.add("bytes_before", report::size(splice.before.size()));
  members.add("bytes_after", report::size(splice.after.size()));
  members.add("meaning", report::safe_text(splice.meaning));
  return members.take();
}

/// What is sick about the new values, then what was met when they were written.
Json findings_json(const EditPlan& plan, const std::optional<Receipt>& receipt) {
  std::vector<Finding> findings = plan.findings;
  if (receipt) findings.insert(findings.end(), receipt->findings.begin(), receipt->findings.end());
  return report::list_of(findings, report::finding);
}

Json change_json(const FileEdit& edit) {
  Members members;
  report::add_text(members, "file", edit.path);
  members.add("patches", report::list_of(edit.change.patches, patch_json));
  if (edit.change.append) members.add("append", append_json(*edit.change.append));
  if (edit.change.splice) members.add("rewrite", rewrite_json(*edit.change.splice));
  return members.take();
}

Json request_json(const PlannedRequest& request) {
  Members members;
  members.add("method", request.method);
  report::add_text(members, "object", request.object);
  report::add_text(members, "meaning", request.meaning);
  members.add("bytes_sent", report::size(request.sent));
  members.add("bytes_copied", report::size(request.copied));
  return members.take();
}

Json field_json(const PlannedField& field) {
  Members members;
  members.add("dialect", field.dialect);
  report::add_text(members, "path", field.path);
  report::add_text(members, "field", field.field);
  members.add("before", report::value(field.before));
  members.add("after", report::value(field.after));
  members.add("type_before", field.before.type);
  members.add("type_after", field.after.type);
  members.add("files", report::list_of(field.files, report::safe_text));
  return members.take();
}

/// Of an edit that was made; null of one that was only planned.
void add_maker(Members& members, const std::optional<Receipt>& receipt) {
  if (receipt) {
    members.add("when", receipt->when);
    return report::add_origin(members, receipt->origin);
  }
  for (const char* key : {"when", "user", "host", "command"}) members.add(key, Json());
}

}  // namespace

Json report::edit(const Checkpoint& checkpoint, const EditPlan& plan, const std::optional<Receipt>& receipt) {
  Members members;
  members.add("schema", "tare.edit/1");
  report::add_text(members, "target", checkpoint.target);
  report::add_text(members, "checkpoint", checkpoint.resolved);
  members.add("applied", receipt.has_value());
  members.add("number", receipt ? report::size(receipt->number) : Json());
  members.add("id", receipt ? Json(receipt->id) : Json());
  add_maker(members, receipt);
  members.add("fields", report::list_of(plan.fields, field_json));
  members.add("changes", report::list_of(plan.files, change_json));
  if (!plan.requests.empty()) members.add("requests", report::list_of(plan.requests, request_json));
  members.add("findings", findings_json(plan, receipt));
  return members.take();
}

std::string edit_json(const Checkpoint& checkpoint, const EditPlan& plan, const std::optional<Receipt>& receipt) {
  return report::text_of(report::edit(checkpoint, plan, receipt));
}

std::string undo_json(const std::string& target, const UndoResult& result) {
  Members members;
  members.add("schema", "tare.undo/1");
  report::add_text(members, "target", target);
  members.add("did", result.kind == UndoKind::undone ? "undone" : "rolled_back");
  const bool has_undone = result.kind == UndoKind::undone;
  members.add("interrupted", has_undone ? "" : name(result.interrupted));
  members.add("number", report::size(result.number));
  report::add_text(members, "id", result.id);
  report::add_text(members, "folder", result.folder);
  members.add("when", result.when);
  report::add_origin(members, result.origin);
  members.add("files", report::list_of(result.files, report::safe_text));
  members.add("fields", report::list_of(result.fields, report::field_edit));
  members.add("findings", report::list_of(result.findings, report::finding));
  return report::text_of(members.take());
}

}  // namespace tare
