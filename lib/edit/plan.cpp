#include "lib/edit/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/checkpoint/choose.hpp"
#include "lib/dialect/called.hpp"
#include "lib/dialect/extra_state.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/dialect/tare_fp8.hpp"
#include "lib/edit/assign.hpp"
#include "lib/edit/file_plan.hpp"
#include "lib/edit/fp8_extra_state.hpp"
#include "lib/edit/fp8_incoming.hpp"
#include "lib/edit/fp8_keys.hpp"
#include "lib/edit/fp8_own.hpp"
#include "lib/edit/fp8_places.hpp"
#include "lib/edit/fp8_recipe_text.hpp"
#include "lib/edit/fp8_values.hpp"
#include "lib/edit/integrity.hpp"
#include "lib/edit/root_key.hpp"
#include "lib/edit/set_once.hpp"
#include "lib/edit/value_text.hpp"
#include "lib/edit/weight_map.hpp"
#include "lib/edit/window_assignments.hpp"
#include "lib/transaction/each_file.hpp"

namespace tare {
namespace {

/// Of thousands of files, plans that are not yet in the whole are memory that it will want, too.
constexpr std::size_t most_plans_apart = 1024;

/// What --align takes note of, and goes on with the files that are there.
constexpr auto incomplete =
    std::to_array<std::string_view>({"rank-missing", "copies-missing", "incomplete-checkpoint"});

void require_complete(const Checkpoint& checkpoint, const EditRequest& request) {
  const auto* assign = request.as<Assign>();
  const bool aligns = assign != nullptr && assign->align;
  for (const Finding& finding : checkpoint.findings) {
    const bool is_incomplete = finding.severity == Severity::error &&
                               std::find(incomplete.begin(), incomplete.end(), finding.code) != incomplete.end();
    if (is_incomplete && !aligns) {
      throw Error(Status::refused, fmt::format("{}: {}", checkpoint.resolved, finding.message),
                  "--align edits the files that are there all the same");
    }
    if (is_incomplete || finding.severity != Severity::error || finding.code == "copies-disagree") continue;
    throw Error(Status::refused, fmt::format("{}: {}", finding.file, finding.message),
                "an edit changes every copy or none: mend or remove that file first");
  }
}

/// Of a state of tare's own.
void require_loadable(const FoundScaler& after) {
  const auto why = why_not_loaded(after);
  if (!why) return;
  throw Error(Status::refused, fmt::format("no scaler would start from {}: {}", called(after.path), *why),
              "give that a value in the same edit; --force writes what is given all the same");
}

/// What its rule takes no more: a counter that its type does not hold.
void require_startable(const FoundScaler& before, const FoundScaler& after) {
  const auto why = why_not_started(after);
  if (!why || why_not_started(before)) return;
  throw Error(Status::refused, fmt::format("{}: {}", called(after.path), *why), "--force writes it all the same");
}

/// What its framework loads no more.
void require_resumable(const FoundScaler& before, const FoundScaler& after) {
  const auto why = why_load_stops(after);
  if (!why || why_load_stops(before)) return;
  throw Error(Status::refused, fmt::format("{}: {}", called(after.path), *why),
              "an edit adds no keys: let the scale stay static (tare migrate --set dynamic=false), or take a file that "
              "a run with a dynamic scale saved; --force writes it all the same");
}

void require_usable(const std::vector<StateWork>& states, const FoundScaler& reference) {
  require_loadable(states.front().after);
  require_startable(reference, states.front().after);
  for (const StateWork& state : states) require_resumable(state.scaler->state(), state.after);
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

class Planner {
 public:
  Planner(const Checkpoint& checkpoint, const EditRequest& request) : checkpoint_(checkpoint), request_(request) {}

  EditPlan run() {
    require_complete(checkpoint_, request_);
    std::visit([this](const auto& action) { plan(action); }, request_.action);
    return finished();
  }

 private:
  // ---- loss scalers

  void plan(const Assign& action) {
    const bool is_fp8 = std::any_of(action.values.begin(), action.values.end(), [this](const Assignment& assignment) {
      return is_fp8_key(checkpoint_, assignment.key, request_.layer.has_value());
    });
    if (is_fp8) return plan_fp8(action);
    each_group(action.align, [&](std::vector<StateWork>& states, const FoundScaler& reference) {
      require_each_once(reference, action.values);
      const auto values = request_.force ? action.values : with_window_levels(reference, action.values);
      assign(checkpoint_, states, reference, values, request_.force);
    });
  }

  void plan(const RenameRoot& action) {
    each_group(false, [&](std::vector<StateWork>& states, const FoundScaler&) {
      for (StateWork& state : states) rename(state, under_root_key(state.after.path, action.key));
    });
  }

  /// What the scalers of each group become: alike, and then what `act` makes of them.
  template <class Act>
  void each_group(bool align_copies, const Act& act) {
    std::map<std::size_t, ScalerGroup> groups;
    for (const Scaler* scaler : chosen_scalers(checkpoint_, {request_.at, request_.all, align_copies})) {
      groups[scaler->group].push_back(scaler);
    }
    for (const auto& [number, group] : groups) {
      const Scaler& chosen = most_common(group);
      const FoundScaler& reference = chosen.state();
      if (auto tie = told_of_tie(checkpoint_, group, chosen)) plan_.findings.push_back(*std::move(tie));
      std::vector<StateWork> states;
      for (const Scaler* scaler : group) states.push_back({scaler, scaler->state(), {}, {}});
      for (StateWork& state : states) align(checkpoint_, state, reference);
      act(states, reference);
      if (!request_.force) require_usable(states, reference);
      std::ranges::move(new_findings(reference, states.front().after), std::back_inserter(plan_.findings));
      for (const Field& field : reference.fields) {
        for (StateWork& state : states) record(state, field.name);
      }
      std::move(states.begin(), states.end(), std::back_inserter(states_));
    }
  }

  // ---- FP8 state

  void plan(const InjectFp8& action) {
    plan_places(places_to_fill(checkpoint_, start_fp8_from(action.state), request_.layer));
  }

  void plan(const TakeFp8& action) { plan_fp8(IncomingFp8(action.state)); }

  void plan(const StripFp8& action) {
    plan_places(action.remove_keys ? places_to_remove(checkpoint_, request_.layer)
                                   : places_to_empty(checkpoint_, request_.layer));
    if (work_.empty() || has_fp8()) plan_fp8(action);
  }

  void plan(const RenameFp8& action) {
    plan_fp8(action);
    if (states_.empty()) {
      throw Error(Status::refused, fmt::format("no layer's path has the part '{}'", action.from));
    }
  }

  template <class Action>
  void plan(const Action& action) {
    plan_fp8(action);
  }

  [[nodiscard]] Fp8Choice layers() const { return {request_.layer, request_.all}; }

  template <class Action>
  void plan_fp8(const Action& action) {
    for (const Scaler* scaler : chosen_fp8(checkpoint_, layers())) {
      StateWork state{scaler, scaler->state(), {}, {}};
      if (change(state, action)) states_.push_back(std::move(state));
    }
  }

  /// Each: whether the state changes at all.
  bool change(StateWork& state, const StripFp8& action) {
    require_document(state.after, "stripped");
    state.is_whole = true;
    state.after.fields = std::vector<Field>();
    record_whole(state, "extra state", Value{{}, "FP8 state"}, Value{{}, action.remove_keys ? "gone" : "none"});
    return true;
  }

  bool change(StateWork& state, const ReencodeFp8& action) {
    require_document(state.after, "re-encoded");
    const TeRelease release = action.release;
    require_no_functions(state.after);
    const ExtraState values = extra_state_of(state.after);
    const std::string lost = unkept(values, release);
    if (!lost.empty() && !request_.force) {
      throw Error(Status::refused,
                  fmt::format("{}: TransformerEngine {}.{} keeps no recipe, and {} would be lost",
                              called(state.after.path), release.major, release.minor, lost),
                  "--force re-encodes all the same; give it to fp8_autocast there");
    }
    extra_state_document(values, release);  // refuses what the release does not know
    state.is_whole = true;
    state.after.fields = std::vector<Field>();
    record_whole(state, "extra state", Value{{}, "FP8 state"},
                 Value{{}, fmt::format("{} as {}.{} has it", form_of(release), release.major, release.minor)});
    return true;
  }

  /// Not where the path does not have the part that is to be renamed.
  bool change(StateWork& state, const RenameFp8& action) {
    if (is_tare_fp8(state.after)) {
      std::vector<NewField> slots = renamed_slots(state.after, layers(), action.from, action.to);
      return !slots.empty() && take(state, std::move(slots));
    }
    return rename(state, renamed(state.after.path, action.from, action.to));
  }

  bool change(StateWork& state, const ResetFp8& action) {
    return take(state, reset_fp8(state.after, action.history, layers()));
  }
  bool change(StateWork& state, const RecomputeFp8&) { return take(state, recomputed_fp8(state.after, layers())); }
  bool change(StateWork& state, const ResizeFp8& action) {
    return take(state, resized_fp8(state.after, action.history, layers()));
  }
  /// Not where the state names none of the layer's tensors.
  bool change(StateWork& state, const IncomingFp8& incoming) {
    std::vector<NewField> fields = incoming.fields_of(state.after, layers(), request_.force);
    return !fields.empty() && take(state, std::move(fields));
  }
  bool change(StateWork& state, const RegroupFp8& action) {
    require_document(state.after, "regrouped");
    return take(state, regrouped_fp8(state.after, action.release));
  }
  bool change(StateWork& state, const Assign& action) {
    SetOnce once(state.after.path);
    for (const Assignment& one : action.values) {
      const Fp8Key key = fp8_key_of(state.after, one.key);
      std::vector<NewField> fields = new_fp8_values(state.after, key, one.value, request_.force, layers());
      if (action.values.size() > 1) once.add(one, fields);  // of millions of elements that is memory
      add(state, std::move(fields));
    }
    return take(state, {});
  }

  bool take(StateWork& state, std::vector<NewField> fields) {
    add(state, std::move(fields));
    add(state, renewed_recipe_texts(state.scaler->state(), state.after));
    for (const Field& field : state.scaler->state().fields) record(state, field.name);
    return true;
  }

  void add(StateWork& state, std::vector<NewField> fields) {
    for (NewField& field : fields) {
      const std::size_t index = index_of(checkpoint_, state, field.name);
      state.is_anew = state.is_anew || (is_tare_fp8(state.after) && !stays_in_place(field));
      hold_once(field.after);
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

  /// Arrays that become alike are one in memory: thousands of histories that are filled.
  void hold_once(Value& value) {
    auto* array = std::get_if<PackedArray>(&value.data);
    if (array == nullptr) return;
    auto& last = last_arrays_[array->shape()];
    if (last != nullptr && *last == *array->elements) {
      array->elements = last;
    } else {
      last = array->elements;
    }
  }

  bool rename(StateWork& state, const std::string& path) {
    const std::string old = std::exchange(state.after.path, path);
    if (!state.is_renamed()) return false;
    if (paths_.empty()) {
      for (const Scaler& scaler : checkpoint_.scalers) paths_.insert(scaler.state().path);
    }
    if (paths_.contains(state.after.path)) {
      throw Error(Status::refused,
                  fmt::format("{} would become {}, which is there already", called(old), called(state.after.path)),
                  "only one of them can be loaded: take the other out first");
    }
    record_whole(state, "path", Value{old, "str"}, Value{state.after.path, "str"});
    return true;
  }

  EditPlan finished() {
    plan_files();
    for (FileEdit& map : renewed_weight_maps(plan_.files, *checkpoint_.storage)) plan_.files.push_back(std::move(map));
    for (FileEdit& manifest :
         renewed_manifests(plan_.files, {request_.force, request_.announce, checkpoint_.storage})) {
      plan_.files.push_back(std::move(manifest));
    }
    return std::move(plan_);
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

  /// Only a name is stored of them: a state that is written anew would have "max" in their place.
  void require_no_functions(const FoundScaler& state) const {
    const std::string functions = own_functions(state);
    if (functions.empty() || request_.force) return;
    throw Error(Status::refused, fmt::format("{}: {} would be lost", called(state.path), functions),
                "--force re-encodes all the same, with amax_compute_algo = max; choose other layers with --layer");
  }

  static void require_document(const FoundScaler& state, const char* what) {
    if (!state.fields.front().inside.empty()) return;
    throw Error(Status::refused, fmt::format("{} is no document of its own that could be {}", called(state.path), what),
                fmt::format("only TransformerEngine's extra state from 0.6 on is {}", what));
  }

  /// Of the layers that are meant.
  [[nodiscard]] bool has_fp8() const {
    return std::ranges::any_of(checkpoint_.scalers, [this](const Scaler& scaler) {
      const FoundScaler& state = scaler.state();
      return state.dialect->kind == "fp8" && (!request_.layer || is_layer(state, *request_.layer));
    });
  }

  static const char* left_by(const PlaceFate& fate) {
    if (std::holds_alternative<Emptied>(fate)) return "none";
    return std::holds_alternative<Removed>(fate) ? "gone" : "FP8 state";
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
                                Value{{}, place.recipe.empty() ? "none" : place.recipe + " without scales"},
                                Value{{}, left_by(place.fate)},
                                {},
                                {}});
      }
      FileWork& work = work_[place.file];
      work.place_entries.push_back(known->second);
      work.places.push_back(std::move(place));
    }
  }

  /// Gives a field that changes an entry in the plan.
  void record(StateWork& state, const std::string& name) {
    const std::size_t index = index_of(checkpoint_, state, name);
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
    std::vector<std::vector<std::size_t>> holders(plan_.fields.size());  // files, by entry
    plan_.files.reserve(files.size());
    for (std::size_t done = 0; done < files.size(); done += most_plans_apart) {
      const std::span<const std::pair<std::size_t, const FileWork*>> some =
          std::span(files).subspan(done, std::min(most_plans_apart, files.size() - done));
      std::vector<FilePlan> plans(some.size());
      for_each_file(system_files(), some.size(), [&](std::size_t i) {
        plans[i] = plan_file(checkpoint_, request_, some[i].first, *some[i].second);
      }).rethrow();
      for (FilePlan& plan : plans) {
        std::move(plan.edits.begin(), plan.edits.end(), std::back_inserter(plan_.files));
        for (const auto& [entry, file] : plan.holders) holders[entry].push_back(file);
      }
    }
    std::size_t described = 0;
    for (const auto& held : holders) described += held.size();
    plan_.for_history.reserve(described);
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
  std::map<std::size_t, FileWork> work_;                   ///< by file
  std::unordered_set<std::string_view, KeyedHash> paths_;  ///< of all scalers, once one is renamed
  std::map<std::vector<std::int64_t>, std::shared_ptr<const PackedArray::Elements>> last_arrays_;  ///< by shape
  EditPlan plan_;
};

}  // namespace

EditPlan plan_edit(const Checkpoint& checkpoint, const EditRequest& request) {
  const auto* assign = request.as<Assign>();
  if (assign != nullptr && assign->values.empty() && !assign->align)
    throw Error(Status::invalid_argument, "no KEY=VALUE says what to change");
  return Planner(checkpoint, request).run();
}

}  // namespace tare
