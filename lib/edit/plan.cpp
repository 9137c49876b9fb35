#include "lib/edit/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/checkpoint/choose.hpp"
#include "lib/checkpoint/view.hpp"
#include "lib/edit/field_key.hpp"
#include "lib/edit/integrity.hpp"
#include "lib/edit/new_value.hpp"

namespace tare {
namespace {

void require_readable(const Checkpoint& checkpoint) {
  for (const Finding& finding : checkpoint.findings) {
    if (finding.severity != Severity::error || finding.code == "copies-disagree") continue;
    throw Error(Status::refused, fmt::format("{}: {}", finding.file, finding.message),
                "an edit changes every copy or none: mend or remove that file first");
  }
}

/// Text of a value for messages and history: the number itself, or its type.
std::string value_text(const Value& value) {
  const Value* number = value.number();
  if (number == nullptr) return value.type;
  if (const auto* flag = std::get_if<bool>(&number->data)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<Integer>(&number->data)) return integer->text();
  return float_text(std::get<double>(number->data));
}

/// What is to happen to one file: its nodes' new values, and how its scalers must read afterwards.
struct FileWork {
  std::vector<NodeChange> changes;
  std::vector<FoundScaler> expected;
};

class Planner {
 public:
  Planner(const Checkpoint& checkpoint, const EditRequest& request) : checkpoint_(checkpoint), request_(request) {}

  EditPlan run() {
    require_readable(checkpoint_);
    for (const Scaler* scaler : chosen_scalers(checkpoint_, {request_.at, request_.all})) {
      std::vector<FoundScaler> after;
      for (const ScalerCopy& copy : scaler->copies) after.push_back(copy.state);
      for (const Assignment& assignment : request_.set) assign(*scaler, assignment, after);
      for (std::size_t i = 0; i < after.size(); ++i)
        work_[scaler->copies[i].file].expected.push_back(std::move(after[i]));
    }
    for (const auto& [file, work] : work_) add_file(file, work);
    for (FileEdit& manifest : renewed_manifests(plan_.files, {request_.force, request_.announce})) {
      plan_.files.push_back(std::move(manifest));
    }
    return std::move(plan_);
  }

 private:
  void assign(const Scaler& scaler, const Assignment& assignment, std::vector<FoundScaler>& after) {
    const Field& field = field_of(scaler.state(), assignment.key);
    const NewValue value = new_value(field, assignment.value, request_.force);
    const std::string before_text = value_text(field.value);
    const std::string after_text = value_text(value.after);
    PlannedField planned{std::string(scaler.state().dialect->name),
                         scaler.state().path,
                         field.name,
                         field.value,
                         value.after,
                         value.note,
                         {}};
    for (std::size_t i = 0; i < scaler.copies.size(); ++i) {
      const ScalerCopy& copy = scaler.copies[i];
      Field& own = after[i].fields[static_cast<std::size_t>(&field - scaler.state().fields.data())];
      const CheckpointFile& file = file_of(copy.file, own);
      planned.files.push_back(file.path);
      if (same(own.value, value.after)) continue;
      own.value = value.after;
      const std::string meaning = fmt::format("{} {} -> {}", field.name, before_text, after_text);
      work_[copy.file].changes.push_back({own.node, value.data, meaning});
      plan_.for_history.push_back({file.location, scaler.state().path, field.name, before_text, after_text});
    }
    plan_.fields.push_back(std::move(planned));
  }

  /// The file that holds a field.
  [[nodiscard]] const CheckpointFile& file_of(std::size_t file, const Field& field) const {
    return checkpoint_.files[file_of_part(checkpoint_, file, checkpoint_.files[file].container->part_of(field.node))];
  }

  void add_file(std::size_t number, const FileWork& work) {
    if (work.changes.empty()) return;
    const CheckpointFile& file = checkpoint_.files[number];
    try {
      std::vector<PartChange> changes = file.container->change_parts(work.changes);
      require_effect(number, changes, work.expected);
      for (PartChange& change : changes) {
        const CheckpointFile& part = checkpoint_.files[file_of_part(checkpoint_, number, change.part)];
        plan_.files.push_back({part.location, std::move(change.change), part.source->status()});
      }
    } catch (const Error& error) {
      const std::string message = error.what();
      if (message.find(file.path) != std::string::npos) throw;
      throw Error(error.status, file.path + ": " + message, error.hint, error.detail);
    }
  }

  /// The change must read back as what was asked for, and leave every other field as it is.
  void require_effect(std::size_t number, const std::vector<PartChange>& changes,
                      const std::vector<FoundScaler>& expected) const {
    const CheckpointFile& file = checkpoint_.files[number];
    const auto container = view_after(checkpoint_, number, changes);
    std::vector<Finding> findings;
    const auto found = find_scalers(container->tree(), {file.path}, findings);
    for (const FoundScaler& wanted : expected) {
      const bool is_there =
          std::any_of(found.begin(), found.end(), [&](const FoundScaler& s) { return same_state(s, wanted); });
      if (is_there) continue;
      throw Error(Status::refused, fmt::format("{}: the edit would not read back as asked", file.path),
                  "nothing was written; this is a fault in tare: please report it with the file's scaler");
    }
  }

  const Checkpoint& checkpoint_;
  const EditRequest& request_;
  std::map<std::size_t, FileWork> work_;
  EditPlan plan_;
};

}  // namespace

EditPlan plan_edit(const Checkpoint& checkpoint, const EditRequest& request) {
  if (request.set.empty()) throw Error(Status::invalid_argument, "no KEY=VALUE says what to change");
  return Planner(checkpoint, request).run();
}

}  // namespace tare
