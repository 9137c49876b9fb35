#include "lib/edit/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/checkpoint/choose.hpp"
#include "lib/dialect/extra_state.hpp"
#include "lib/dialect/frameworks/tare.hpp"
#include "lib/edit/field_key.hpp"
#include "lib/edit/file_plan.hpp"
#include "lib/edit/fp8_extra_state.hpp"
#include "lib/edit/fp8_keys.hpp"
#include "lib/edit/fp8_places.hpp"
#include "lib/edit/fp8_values.hpp"
#include "lib/edit/integrity.hpp"
#include "lib/edit/new_value.hpp"
#include "lib/edit/root_key.hpp"
#include "lib/edit/value_text.hpp"
#include "lib/edit/weight_map.hpp"
#include "lib/edit/window_assignments.hpp"
#include "lib/transaction/each_file.hpp"

namespace tare {
namespace {

/// What --align takes note of, and goes on with the files that are there.
constexpr auto incomplete =
    std::to_array<std::string_view>({"rank-missing", "copies-missing", "incomplete-checkpoint"});

void require_complete(const Checkpoint& checkpoint, const EditRequest& request) {
  for (const Finding& finding : checkpoint.findings) {
    const bool is_incomplete = finding.severity == Severity::error &&
                               std::find(incomplete.begin(), incomplete.end(), finding.code) != incomplete.end();
    if (is_incomplete && !request.align) {
      throw Error(Status::refused, fmt::format("{}: {}", checkpoint.resolved, finding.message),
                  "--align edits the files that are there all the same");
    }
    if (is_incomplete || finding.severity != Severity::error || finding.code == "copies-disagree") continue;
    throw Error(Status::refused, fmt::format("{}: {}", finding.file, finding.message),
                "an edit changes every copy or none: mend or remove that file first");
  }
}

/// What is sick about `after` and was not about `before`: values that are fine, each by itself.
std::vector<Finding> new_findings(const FoundScaler& before, const FoundScaler& after) {
  const std::vector<Finding> known = judge(before);
  std::vector<Finding> found = judge(after);
  std::erase_if(found, [&](const Finding& finding) {
    return std::ranges::any_of(known, [&](const Finding& other) { return other.code == finding.code; });
  });
  return found;
}

/// Of two values for one field, the second would win unseen.
void require_each_once(const FoundScaler& state, const std::vector<Assignment>& assignments) {
  std::map<const Field*, const Assignment*> given;
  for (const Assignment& assignment : assignments) {
    for (const Field* field : fields_of(state, assignment.key)) {
      const auto [known, is_new] = given.try_emplace(field, &assignment);
      if (is_new) continue;
      throw Error(Status::invalid_argument,
                  fmt::format("{}={} and {}={} both set {}", known->second->key, known->second->value, assignment.key,
                              assignment.value, field->name));
    }
  }
}

/// Scalers that are edited as one: a single one, or all that disagree and are to be aligned.
using Group = std::vector<const Scaler*>;

class Planner {
 public:
  Planner(const Checkpoint& checkpoint, const EditRequest& request) : checkpoint_(checkpoint), request_(request) {}

  EditPlan run() {
    require_complete(checkpoint_, request_);
    if (request_.fp8 && request_.fp8->verb == Fp8Verb::inject) {
      plan_places(places_to_fill(checkpoint_, start_fp8_from(*request_.fp8->state), request_.layer));
      return finished();
    }
    if (request_.fp8 && request_.fp8->remove) plan_places(places_to_remove(checkpoint_, request_.layer));
    if (request_.fp8 || sets_fp8()) {
      if (work_.empty() || has_fp8()) {
        for (const Scaler* scaler : chosen_fp8(checkpoint_, {request_.layer, request_.all})) plan_fp8(*scaler);
      }
      if (states_.empty() && work_.empty()) {
        throw Error(Status::refused, fmt::format("no layer's path has the part '{}'", request_.fp8->from));
      }
      return finished();
    }
    std::map<std::size_t, Group> groups;
    for (const Scaler* scaler : chosen_scalers(checkpoint_, {request_.at, request_.all, request_.align})) {
      groups[scaler->group].push_back(scaler);
    }
    for (const auto& [number, group] : groups) plan(group);
    return finished();
  }

 private:
  [[nodiscard]] bool sets_fp8() const {
    return std::any_of(request_.set.begin(), request_.set.end(), [this](const Assignment& assignment) {
      return is_fp8_key(checkpoint_, assignment.key, request_.layer.has_value());
    });
  }

  EditPlan finished() {
    plan_files();
    for (FileEdit& map : renewed_weight_maps(plan_.files)) plan_.files.push_back(std::move(map));
    for (FileEdit& manifest : renewed_manifests(plan_.files, {request_.force, request_.announce})) {
      plan_.files.push_back(std::move(manifest));
    }
    return std::move(plan_);
  }

  void plan_fp8(const Scaler& scaler) {
    StateWork state{&scaler, scaler.state(), {}, {}};
    const auto verb = request_.fp8 ? std::optional(request_.fp8->verb) : std::nullopt;
    if (verb == Fp8Verb::strip) {
      strip(state);
    } else if (verb == Fp8Verb::reencode) {
      reencode(state);
    } else if (verb == Fp8Verb::rename) {
      if (!rename(state)) return;
    } else {
      if (verb) take(state, new_fp8_state(state.after, *request_.fp8));
      for (const Assignment& assignment : request_.set) take(state, assigned_fp8(state.after, assignment));
      for (const Field& field : scaler.state().fields) record(state, field.name);
    }
    states_.push_back(std::move(state));
  }

  static std::vector<NewField> new_fp8_state(const FoundScaler& state, const Fp8Request& request) {
    switch (request.verb) {
      case Fp8Verb::reset:
        return reset_fp8(state, request.history);
      case Fp8Verb::recompute:
        return recomputed_fp8(state);
      case Fp8Verb::resize:
        return resized_fp8(state, request.history);
      case Fp8Verb::regroup:
        return regrouped_fp8(state, *request.release);
      case Fp8Verb::strip:
      case Fp8Verb::rename:
      case Fp8Verb::reencode:
      case Fp8Verb::inject:
        break;
    }
    return {};
  }

  [[nodiscard]] std::vector<NewField> assigned_fp8(const FoundScaler& state, const Assignment& assignment) const {
    return new_fp8_values(state, fp8_key_of(state, assignment.key), assignment.value, request_.force);
  }

  static void require_finite(const Assignment& assignment, double value) {
    if (std::isfinite(value)) return;
    throw Error(Status::refused,
                fmt::format("{}={}: a state of tare's is not loaded with that", assignment.key, assignment.value),
                "give a finite number");
  }

  void take(StateWork& state, std::vector<NewField> fields) const {
    for (NewField& field : fields) {
      const std::size_t index = index_of(state, field.name);
      state.after.fields[index].value = std::move(field.after);
      const auto known = state.fields.find(index);
      if (known == state.fields.end()) {
        state.fields.emplace(index, FieldWork{std::move(field.data), {}});
        continue;
      }
      auto& elements = std::get<NewElements>(known->second.data);
      const auto& more = std::get<NewElements>(field.data);
      elements.insert(elements.end(), more.begin(), more.end());
    }
  }

  /// Of the whole state one entry in the plan.
  void record_whole(StateWork& state, const char* what, Value before, Value after) {
    state.entries[0] = plan_.fields.size();
    plan_.fields.push_back({std::string(state.after.dialect->name),
                            state.scaler->state().path,
                            what,
                            std::move(before),
                            std::move(after),
                            {},
                            {}});
  }

  static void require_document(const FoundScaler& state, const char* what) {
    if (!state.fields.front().inside.empty()) return;
    throw Error(Status::refused, fmt::format("'{}': is no document of its own that could be {}", state.path, what),
                fmt::format("only TransformerEngine's extra state from 0.6 on is {}", what));
  }

  void strip(StateWork& state) {
    require_document(state.after, "stripped");
    state.is_whole = true;
    state.after.fields = std::vector<Field>();
    record_whole(state, "extra state", Value{{}, "FP8 state"}, Value{{}, request_.fp8->remove ? "gone" : "none"});
  }

  void reencode(StateWork& state) {
    require_document(state.after, "re-encoded");
    const TeRelease release = *request_.fp8->release;
    const ExtraState values = extra_state_of(state.after);
    const std::string lost = unkept(values, release);
    if (!lost.empty() && !request_.force) {
      throw Error(Status::refused,
                  fmt::format("'{}': TransformerEngine {}.{} keeps no recipe, and {} would be lost", state.after.path,
                              release.major, release.minor, lost),
                  "--force re-encodes all the same; give it to fp8_autocast there");
    }
    extra_state_document(values, release);  // refuses what the release does not know
    state.is_whole = true;
    state.after.fields = std::vector<Field>();
    record_whole(state, "extra state", Value{{}, "FP8 state"},
                 Value{{}, fmt::format("{} as {}.{} has it", form_of(release), release.major, release.minor)});
  }

  [[nodiscard]] bool has_fp8() const {
    return std::any_of(checkpoint_.scalers.begin(), checkpoint_.scalers.end(),
                       [](const Scaler& scaler) { return scaler.state().dialect->kind == "fp8"; });
  }

  /// Each place in each file; one entry in the plan for those of one path.
  void plan_places(std::vector<PlaceWork> places) {
    std::map<std::string, std::size_t> entries;
    for (PlaceWork& place : places) {
      const auto [known, is_new] = entries.try_emplace(place.path, plan_.fields.size());
      if (is_new) {
        plan_.fields.push_back({"transformer_engine",
                                place.path,
                                "extra state",
                                Value{{}, "none"},
                                Value{{}, place.state ? "FP8 state" : "gone"},
                                {},
                                {}});
      }
      FileWork& work = work_[place.file];
      work.place_entries.push_back(known->second);
      work.places.push_back(std::move(place));
    }
  }

  /// False where the path does not have the part that is to be renamed.
  bool rename(StateWork& state) {
    const std::string old = state.after.path;
    state.after.path = request_.root_key ? under_root_key(old, *request_.root_key)
                                         : renamed(old, request_.fp8->from, request_.fp8->to);
    if (!state.is_renamed()) return false;
    const bool is_taken = std::any_of(checkpoint_.scalers.begin(), checkpoint_.scalers.end(),
                                      [&](const Scaler& other) { return other.state().path == state.after.path; });
    if (is_taken) {
      throw Error(Status::refused, fmt::format("'{}' would become '{}', which is there already", old, state.after.path),
                  "only one of them can be loaded: take the other out first");
    }
    record_whole(state, "path", Value{old, "str"}, Value{state.after.path, "str"});
    return true;
  }

  void plan(const Group& group) {
    const FoundScaler& reference = most_common(group).state();
    std::vector<StateWork> states;
    for (const Scaler* scaler : group) states.push_back({scaler, scaler->state(), {}, {}});
    for (StateWork& state : states) align(state, reference);
    for (StateWork& state : states) {
      if (request_.root_key) rename(state);
    }
    require_each_once(reference, request_.set);
    const auto set = request_.force ? request_.set : with_window_levels(reference, request_.set);
    for (const Assignment& assignment : set) assign(states, reference, assignment);
    for (Finding& finding : new_findings(reference, states.front().after)) plan_.findings.push_back(std::move(finding));
    for (const Field& field : reference.fields) {
      for (StateWork& state : states) record(state, field.name);
    }
    std::move(states.begin(), states.end(), std::back_inserter(states_));
  }

  static const Scaler& most_common(const Group& group) {
    return **std::max_element(group.begin(), group.end(), [](const Scaler* a, const Scaler* b) {
      return a->copies.size() < b->copies.size();  // of equals the first
    });
  }

  /// Makes what a state becomes equal to the reference.
  void align(StateWork& state, const FoundScaler& reference) const {
    if (state.after.fields.size() != reference.fields.size()) refuse_to_align(state, "it has other fields");
    for (const Field& wanted : reference.fields) {
      Field& own = state.after.fields[index_of(state, wanted.name)];
      if (same(own.value, wanted.value)) continue;
      const Value* number = wanted.value.number();
      if (!own.editable || number == nullptr || !is_kind_of(own.value, wanted.value)) {
        refuse_to_align(state, fmt::format("its {} is of type {}, the others' of {}, and that cannot be changed",
                                           own.name, own.value.type, wanted.value.type));
      }
      state.fields[index_of(state, wanted.name)] = {container_data(*number), type_note(own.value, wanted.value)};
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

  static NodeValue container_data(const Value& number) {
    if (const auto* flag = std::get_if<bool>(&number.data)) return *flag;
    if (const auto* integer = std::get_if<Integer>(&number.data)) return *integer;
    return number.as_double();
  }

  std::size_t index_of(const StateWork& state, const std::string& name) const {
    const Field* field = state.after.find(name);
    if (field == nullptr) refuse_to_align(state, fmt::format("it has no {}", name));
    return static_cast<std::size_t>(field - state.after.fields.data());
  }

  [[noreturn]] void refuse_to_align(const StateWork& state, const std::string& why) const {
    const std::size_t file = state.scaler->copies.front().places.front();
    throw Error(Status::refused, fmt::format("{}: cannot be aligned: {}", checkpoint_.files[file].path, why),
                "tare inspect shows what each file holds; take that file from another save");
  }

  void assign(std::vector<StateWork>& states, const FoundScaler& reference, const Assignment& assignment) const {
    for (const Field* field : fields_of(reference, assignment.key)) {
      const NewValue value = new_value(*field, assignment.value, request_.force);
      if (is_own(reference)) require_finite(assignment, value.after.as_double());
      for (StateWork& state : states) {
        const std::size_t index = index_of(state, field->name);
        state.after.fields[index].value = value.after;
        state.fields[index] = {std::visit([](const auto& data) -> NodeValue { return data; }, value.data), value.note};
      }
    }
  }

  /// Gives a field that changes an entry in the plan.
  void record(StateWork& state, const std::string& name) {
    const std::size_t index = index_of(state, name);
    const auto replacement = state.fields.find(index);
    if (replacement == state.fields.end()) return;
    state.entries[index] = plan_.fields.size();
    plan_.fields.push_back({std::string(state.after.dialect->name),
                            state.after.path,
                            name,
                            state.scaler->state().fields[index].value,
                            state.after.fields[index].value,
                            replacement->second.note,
                            {}});
  }

  /// One file after the other is opened again and planned, or a few at once where that is slow: however many there are,
  /// memory holds few trees.
  void plan_files() {
    for (const StateWork& state : states_) {
      for (const ScalerCopy& copy : state.scaler->copies) work_[copy.file].states.push_back(&state);
    }
    std::vector<std::pair<std::size_t, const FileWork*>> files;
    for (const auto& [file, work] : work_) files.emplace_back(file, &work);
    std::vector<FilePlan> plans(files.size());
    for_each_file(system_files(), files.size(), [&](std::size_t i) {
      plans[i] = plan_file(checkpoint_, request_, files[i].first, *files[i].second);
    }).rethrow();
    std::vector<std::vector<std::size_t>> holders(plan_.fields.size());  // files, by entry
    for (FilePlan& plan : plans) {
      std::move(plan.edits.begin(), plan.edits.end(), std::back_inserter(plan_.files));
      for (const auto& [entry, file] : plan.holders) holders[entry].push_back(file);
    }
    for (std::size_t entry = 0; entry < holders.size(); ++entry) describe(plan_.fields[entry], holders[entry]);
  }

  /// Says in which files a field changes: to who reads the plan, and in the history.
  void describe(PlannedField& field, const std::vector<std::size_t>& holders) {
    const std::string before = value_text(field.before);
    const std::string after = value_text(field.after);
    for (const std::size_t holder : holders) {
      const CheckpointFile& file = checkpoint_.files[holder];
      field.files.push_back(file.path);
      if (same(field.before, field.after)) continue;
      plan_.for_history.push_back({file.location, field.path, field.field, before, after});
    }
  }

  const Checkpoint& checkpoint_;
  const EditRequest& request_;
  std::vector<StateWork> states_;
  std::map<std::size_t, FileWork> work_;  ///< by file
  EditPlan plan_;
};

}  // namespace

EditPlan plan_edit(const Checkpoint& checkpoint, const EditRequest& request) {
  if (request.set.empty() && !request.align && !request.fp8 && !request.root_key)
    throw Error(Status::invalid_argument, "no KEY=VALUE says what to change");
  return Planner(checkpoint, request).run();
}

}  // namespace tare
