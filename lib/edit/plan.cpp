#include "lib/edit/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

/// What --align takes note of, and goes on with the files that are there.
constexpr auto incomplete = std::to_array<std::string_view>({"rank-missing", "copies-missing"});

void require_complete(const Checkpoint& checkpoint, const EditRequest& request) {
  for (const Finding& finding : checkpoint.findings) {
    const bool is_incomplete = std::find(incomplete.begin(), incomplete.end(), finding.code) != incomplete.end();
    if (is_incomplete && !request.align) {
      throw Error(Status::refused, fmt::format("{}: {}", checkpoint.resolved, finding.message),
                  "--align edits the files that are there all the same");
    }
    if (is_incomplete || finding.severity != Severity::error || finding.code == "copies-disagree") continue;
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

using NewData = std::variant<bool, Integer, double>;

struct Replacement {
  NewData data;      ///< for the container
  std::string note;  ///< for the user, where Python's type changes
};

/// One copy, and what it is to become.
struct CopyWork {
  const Scaler* scaler;
  const ScalerCopy* copy;
  FoundScaler after;
  std::map<std::size_t, Replacement> fields;  ///< by number
};

/// Scalers that are edited as one: a single one, or all that disagree and are to be aligned.
using Group = std::vector<const Scaler*>;

class Planner {
 public:
  Planner(const Checkpoint& checkpoint, const EditRequest& request) : checkpoint_(checkpoint), request_(request) {}

  EditPlan run() {
    require_complete(checkpoint_, request_);
    std::map<std::size_t, Group> groups;
    for (const Scaler* scaler : chosen_scalers(checkpoint_, {request_.at, request_.all, request_.align})) {
      groups[scaler->group].push_back(scaler);
    }
    for (const auto& [number, group] : groups) plan(group);
    for (const auto& [file, work] : work_) add_file(file, work);
    for (FileEdit& manifest : renewed_manifests(plan_.files, {request_.force, request_.announce})) {
      plan_.files.push_back(std::move(manifest));
    }
    return std::move(plan_);
  }

 private:
  void plan(const Group& group) {
    const Scaler& reference = most_common(group);
    std::vector<CopyWork> copies;
    for (const Scaler* scaler : group) {
      for (const ScalerCopy& copy : scaler->copies) copies.push_back({scaler, &copy, copy.state, {}});
    }
    for (CopyWork& copy : copies) align(copy, reference.state());
    for (const Assignment& assignment : request_.set) assign(copies, reference.state(), assignment);
    for (const Field& field : reference.state().fields) record(copies, field.name);
    for (CopyWork& copy : copies) work_[copy.copy->file].expected.push_back(std::move(copy.after));
  }

  static const Scaler& most_common(const Group& group) {
    return **std::max_element(group.begin(), group.end(), [](const Scaler* a, const Scaler* b) {
      return a->copies.size() < b->copies.size();  // of equals the first
    });
  }

  /// Makes what a copy becomes equal to the reference.
  void align(CopyWork& copy, const FoundScaler& reference) const {
    if (copy.after.fields.size() != reference.fields.size()) refuse_to_align(copy, "it has other fields");
    for (const Field& wanted : reference.fields) {
      Field& own = copy.after.fields[index_of(copy, wanted.name)];
      if (same(own.value, wanted.value)) continue;
      const Value* number = wanted.value.number();
      if (!own.editable || number == nullptr || !is_kind_of(own.value, wanted.value)) {
        refuse_to_align(copy, fmt::format("its {} is of type {}, the others' of {}, and that cannot be changed",
                                          own.name, own.value.type, wanted.value.type));
      }
      copy.fields[index_of(copy, wanted.name)] = {container_data(*number), type_note(own.value, wanted.value)};
      own.value = wanted.value;
    }
  }

  /// Python's numbers can take each other's place; a tensor cannot take one's.
  static bool is_kind_of(const Value& own, const Value& wanted) {
    const auto is_python = [](const Value& value) { return value.type.find(':') == std::string::npos; };
    return own.type == wanted.type || (is_python(own) && is_python(wanted));
  }

  static std::string type_note(const Value& before, const Value& after) {
    return before.type == after.type ? "" : fmt::format("{} becomes {}", before.type, after.type);
  }

  static NewData container_data(const Value& number) {
    if (const auto* flag = std::get_if<bool>(&number.data)) return *flag;
    if (const auto* integer = std::get_if<Integer>(&number.data)) return *integer;
    return number.as_double();
  }

  std::size_t index_of(const CopyWork& copy, const std::string& name) const {
    const Field* field = copy.after.find(name);
    if (field == nullptr) refuse_to_align(copy, fmt::format("it has no {}", name));
    return static_cast<std::size_t>(field - copy.after.fields.data());
  }

  [[noreturn]] void refuse_to_align(const CopyWork& copy, const std::string& why) const {
    throw Error(Status::refused,
                fmt::format("{}: cannot be aligned: {}", checkpoint_.files[copy.copy->places.front()].path, why),
                "tare inspect shows what each file holds; take that file from another save");
  }

  void assign(std::vector<CopyWork>& copies, const FoundScaler& reference, const Assignment& assignment) const {
    for (const Field* field : fields_of(reference, assignment.key)) {
      const NewValue value = new_value(*field, assignment.value, request_.force);
      for (CopyWork& copy : copies) {
        const std::size_t index = index_of(copy, field->name);
        copy.after.fields[index].value = value.after;
        copy.fields[index] = {value.data, value.note};
      }
    }
  }

  /// Turns what one field becomes, copy by copy, into changes of nodes, and entries of the plan and the history.
  void record(const std::vector<CopyWork>& copies, const std::string& name) {
    std::map<const Scaler*, std::size_t> entries;  // of the plan: one for each state that there was
    for (const CopyWork& copy : copies) {
      const std::size_t index = index_of(copy, name);
      const auto replacement = copy.fields.find(index);
      if (replacement == copy.fields.end()) continue;
      const Field& before = copy.copy->state.fields[index];
      const Field& after = copy.after.fields[index];
      const auto [entry, is_new] = entries.try_emplace(copy.scaler, plan_.fields.size());
      if (is_new) plan_.fields.push_back(described(copy, before, after, replacement->second.note));
      const CheckpointFile& file = file_of(copy.copy->file, after);
      plan_.fields[entry->second].files.push_back(file.path);
      if (same(before.value, after.value)) continue;
      const std::string before_text = value_text(before.value);
      const std::string after_text = value_text(after.value);
      work_[copy.copy->file].changes.push_back(
          {after.node, replacement->second.data, fmt::format("{} {} -> {}", name, before_text, after_text)});
      plan_.for_history.push_back({file.location, copy.after.path, name, before_text, after_text});
    }
  }

  static PlannedField described(const CopyWork& copy, const Field& before, const Field& after,
                                const std::string& note) {
    return {std::string(copy.after.dialect->name), copy.after.path, before.name, before.value, after.value, note, {}};
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
  if (request.set.empty() && !request.align) throw Error(Status::invalid_argument, "no KEY=VALUE says what to change");
  return Planner(checkpoint, request).run();
}

}  // namespace tare
