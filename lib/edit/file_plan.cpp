#include "lib/edit/file_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "lib/base/error.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/base/naming.hpp"
#include "lib/codec/changed_states.hpp"
#include "lib/container/packed_values.hpp"
#include "lib/dialect/called.hpp"
#include "lib/dialect/extra_state.hpp"
#include "lib/dialect/frameworks/tare.hpp"
#include "lib/dialect/tare_fp8.hpp"
#include "lib/edit/fp8_extra_state.hpp"
#include "lib/edit/fp8_keys.hpp"
#include "lib/edit/root_key.hpp"
#include "lib/edit/value_text.hpp"

namespace tare {
namespace {

bool is_same_real(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

bool holds_the_same(const StateValue& a, const StateValue& b) {
  const auto* array = std::get_if<StateArray>(&a);
  const auto* other = std::get_if<StateArray>(&b);
  if (array != nullptr && other != nullptr) {
    const auto* reals = std::get_if<std::vector<double>>(&array->values);
    const auto* others = std::get_if<std::vector<double>>(&other->values);
    if (reals == nullptr || others == nullptr) return a == b;
    return array->shape == other->shape && std::ranges::equal(*reals, *others, is_same_real);
  }
  const auto* real = std::get_if<double>(&a);
  const auto* wanted = std::get_if<double>(&b);
  return real != nullptr && wanted != nullptr ? is_same_real(*real, *wanted) : a == b;
}

bool holds_the_same(const StateSection& a, const StateSection& b) {
  return std::ranges::equal(a, b, [](const StateSection::Entry& one, const StateSection::Entry& other) {
    return one.name == other.name && holds_the_same(one.value, other.value);
  });
}

class FilePlanner {
 public:
  FilePlanner(const Checkpoint& checkpoint, const EditRequest& request, std::size_t number, const FileWork& work)
      : checkpoint_(checkpoint),
        request_(request),
        number_(number),
        work_(work),
        file_(checkpoint, number, known_in(work)) {}

  FilePlan run() && {
    const bool is_anew =
        std::ranges::any_of(work_.states, [this](const auto* state) { return is_written_anew(*state); });
    std::vector<PartChange> parts = is_anew ? part_anew() : parts_in_place();
    if (parts.empty()) return std::move(plan_);
    file_.close_container();  // before another tree is made
    require_effect(parts);
    hold_in(parts);
    plan_.edits = file_edits(checkpoint_, file_, std::move(parts));
    return std::move(plan_);
  }

 private:
  std::vector<PartChange> parts_in_place() {
    std::vector<NodeChange> changes = changes_of_states();
    add_places(changes);
    return changes.empty() ? std::vector<PartChange>() : file_.container().change_parts(changes);
  }

  /// Whether the container cannot put where it stands what becomes of a state of tare's.
  [[nodiscard]] bool is_written_anew(const StateWork& state) const {
    if (state.is_anew || !is_tare_fp8(state.after)) return state.is_anew;
    const auto* packed = dynamic_cast<const WithPackedValues*>(&file_.container());
    const std::vector<FieldNode>& nodes = file_.nodes_of(state.scaler->state());
    return packed != nullptr && std::ranges::any_of(state.fields, [&](const auto& field) {
             const auto index = field.first;
             return packed->is_packed(nodes[index].node) &&
                    !same(state.scaler->state().fields[index].value, state.after.fields[index].value);
           });
  }

  /// The whole file, with what becomes of its states.
  std::vector<PartChange> part_anew() {
    std::vector<NamedState> after;
    for (const StateWork* state : work_.states) {
      const FoundScaler& before = state->scaler->state();
      for (const auto& [index, entry] : state->entries) hold(entry, file_.nodes_of(before)[index].node);
      after.push_back({before.path, tare_fp8_state(state->after)});
    }
    const std::shared_ptr<const Source>& source = file_.source_of_part(0);
    const Bytes now = source->read({0, source->size()});
    const Bytes anew = file_with_states(source, after);
    if (anew == now) return {};
    FileChange change;
    change.splice = changed_run(0, now, anew, "the states, written anew");
    return {{0, std::move(change)}};
  }

  static std::vector<const FoundScaler*> known_in(const FileWork& work) {
    std::vector<const FoundScaler*> known;
    known.reserve(work.states.size());
    for (const StateWork* state : work.states) known.push_back(&state->scaler->state());
    return known;
  }

  /// Notes that an entry of the plan changes in the file that holds `node`.
  void hold(std::size_t entry, NodeId node) {
    plan_.holders.emplace_back(entry, file_.file_of_part(file_.container().part_of(node)));
  }

  /// What changes in no file that holds it changes in the one that names it: a key that goes leaves a distributed
  /// checkpoint's metadata.
  void hold_in(const std::vector<PartChange>& parts) {
    std::set<std::size_t> changed;
    for (const PartChange& part : parts) changed.insert(file_.file_of_part(part.part));
    for (auto& [entry, file] : plan_.holders) {
      if (!changed.contains(file)) file = file_.file_of_part(parts.back().part);
    }
  }

  /// What nodes become, by the node and, of a document in it, the node inside.
  using KnownChanges = std::map<std::pair<NodeId, std::vector<NodeId>>, std::pair<const StateWork*, const Value*>>;

  /// Two keys may show one value: it is changed once. Throws `refused` where it would become two.
  static bool changes_once(KnownChanges& known, const StateWork& state, const FieldNode& node, const Value& after) {
    const auto [first, is_new] = known.try_emplace(std::pair(node.node, node.inside), std::pair(&state, &after));
    if (is_new || same(*first->second.second, after)) return is_new;
    throw Error(Status::refused,
                fmt::format("{} and {} are one value of the file, which would become two", called(state.after.path),
                            called(first->second.first->after.path)),
                "change one of them alone, or separate them in the framework first");
  }

  /// Turns what the fields become into changes of the nodes that they have in this file.
  std::vector<NodeChange> changes_of_states() {
    std::vector<NodeChange> changes;
    std::map<NodeId, Value> repeated;
    std::set<NodeId> whole;
    KnownChanges known;
    for (const StateWork* state : work_.states) {
      const std::vector<Field>& fields = state->scaler->state().fields;
      const std::vector<FieldNode>& nodes = file_.nodes_of(state->scaler->state());
      if (state->is_whole || state->is_renamed()) {
        const NodeId node = nodes.front().node;
        hold(state->entries.at(0), node);
        const NodeChange change = change_of_whole(*state, file_.container().tree(), node);
        // One root key may hold several states, and two keys may show one.
        if (whole.insert(change.node).second) changes.push_back(change);
      }
      for (const auto& [index, replacement] : state->fields) {
        const Field& before = fields[index];
        const Value& after = state->after.fields[index].value;
        const auto& [node, inside, mirror] = nodes[index];
        hold(state->entries.at(index), node);
        if (same(before.value, after) || !changes_once(known, *state, nodes[index], after)) continue;
        NodeChange change{node, replacement.data,
                          fmt::format("{} {} -> {}", before.name, value_text(before.value), value_text(after)), inside};
        if (inside.empty() && file_.container().tree().kind(node) == Kind::list) {
          add_items(changes, change);
        } else {
          changes.push_back(std::move(change));
        }
        if (mirror == nowhere) continue;
        changes.push_back({mirror, replacement.data, fmt::format("what repeats {}", before.name)});
        repeated.emplace(mirror, after);
      }
    }
    for (RolesChecksum& checksum : roles_checksums(file_.container().tree(), repeated)) {
      changes.push_back({checksum.node, NewText{std::move(checksum.text)}, "the checksum of what repeats fields"});
    }
    return changes;
  }

  /// Elements of an array that is a list of numbers, or a list of lists: each item is a node of its own.
  void add_items(std::vector<NodeChange>& changes, const NodeChange& change) const {
    const auto* elements = std::get_if<NewElements>(&change.value);
    if (elements == nullptr) return changes.push_back(change);
    const Tree& tree = file_.container().tree();
    std::vector<NodeId> items;
    for (const NodeId row : tree.items(change.node)) {
      if (tree.kind(row) != Kind::list) {
        items.push_back(row);
        continue;
      }
      const auto inner = tree.items(row);
      items.insert(items.end(), inner.begin(), inner.end());
    }
    for (const NewElement& element : *elements) {
      for_each_index(element, [&](std::uint64_t index) {
        changes.push_back({items.at(index), element.value, change.meaning});
      });
    }
  }

  void add_places(std::vector<NodeChange>& changes) {
    if (work_.places.empty()) return;
    auto entry = work_.place_entries.begin();
    for (NodeChange& change : changes_of_places(work_.places, file_.container().tree(), release())) {
      hold(*entry++, change.node);
      changes.push_back(std::move(change));
    }
  }

  /// For which the places that are filled, or emptied, are meant.
  [[nodiscard]] std::optional<TeRelease> release() const {
    if (const auto* inject = request_.as<InjectFp8>()) return inject->release;
    const auto* strip = request_.as<StripFp8>();
    return strip == nullptr ? std::nullopt : strip->release;
  }

  /// Stripped, a tensor holds a pickled None and an object is None; renamed, what holds the state gets another key.
  [[nodiscard]] NodeChange change_of_whole(const StateWork& state, const Tree& tree, NodeId holder) const {
    const std::string& path = state.scaler->state().path;
    if (const auto* strip = request_.as<StripFp8>())
      return {holder, nothing_for(*strip, tree, holder), path + " stripped"};
    if (const auto* reencode = request_.as<ReencodeFp8>()) {
      return {holder, extra_state_value(extra_state_of(state.scaler->state()), reencode->release),
              path + " re-encoded"};
    }
    if (const auto* root = request_.as<RenameRoot>()) {
      return {root_key_of(tree, path), NewText{root->key}, path + " renamed"};
    }
    const auto& rename = std::get<RenameFp8>(request_.action);
    const auto [map, key] = key_of_state(tree, holder);
    const std::string name = renamed(tree.key_text(key), rename.from, rename.to);
    if (tree.find(map, name) != nowhere) {
      throw Error(Status::refused, fmt::format("{} would become '{}', a key that is there already", called(path), name),
                  "`tare fp8 strip CHECKPOINT --remove --layer GLOB` takes one out that holds no state");
    }
    return {key, NewText{name}, path + " renamed"};
  }

  /// What is left of a state that is stripped.
  [[nodiscard]] static NodeValue nothing_for(const StripFp8& strip, const Tree& tree, NodeId holder) {
    if (strip.remove_keys) return Removal();
    return emptied(tree, holder, strip.release);
  }

  /// The change must read back as what was asked for, and leave every other field as it is.
  void require_effect(const std::vector<PartChange>& changes) const {
    std::unordered_multimap<std::string_view, const StateWork*, KeyedHash> by_path;  // before and, renamed, after
    for (const StateWork* state : work_.states) {
      by_path.emplace(state->scaler->state().path, state);
      if (state->is_renamed()) by_path.emplace(state->after.path, state);
    }
    std::unordered_map<std::string_view, const ExtraState*, KeyedHash> unfilled = to_fill();
    std::set<const StateWork*> there;
    std::set<const StateWork*> left;
    file_.each_scaler_after(changes, [&](const FoundScaler& scaler) {
      const auto [first, last] = by_path.equal_range(scaler.path);
      std::for_each(first, last, [&](const auto& entry) {
        const FoundScaler& before = entry.second->scaler->state();
        if (scaler.dialect == before.dialect && scaler.path == before.path) left.insert(entry.second);
        if (is_as_asked(scaler, *entry.second)) there.insert(entry.second);
      });
      const auto place = unfilled.find(scaler.path);
      if (place != unfilled.end() && same_values(extra_state_of(scaler), *place->second)) unfilled.erase(place);
    });
    const bool strips = request_.as<StripFp8>() != nullptr;
    const bool is_done = std::all_of(work_.states.begin(), work_.states.end(), [&](const StateWork* state) {
      const bool is_left = left.contains(state);
      return strips ? !is_left : there.contains(state) && !(state->is_renamed() && is_left);
    });
    if (is_done && unfilled.empty()) return;
    throw Error(Status::refused,
                fmt::format("{}: the edit would not read back as asked", checkpoint_.files[number_].path),
                "nothing was written; this is a fault in tare: please report it with the file's scaler");
  }

  /// The places that are filled, by path, and with what.
  [[nodiscard]] std::unordered_map<std::string_view, const ExtraState*, KeyedHash> to_fill() const {
    std::unordered_map<std::string_view, const ExtraState*, KeyedHash> filled;
    for (const PlaceWork& work : work_.places) {
      if (const auto* state = std::get_if<ExtraState>(&work.fate)) filled.emplace(work.path, state);
    }
    return filled;
  }

  /// Of tare's own FP8 state, which gets its policy's types and defaults where the file is written anew: 0.0 is 0 then.
  static bool says_the_same(const FoundScaler& scaler, const FoundScaler& wanted) {
    if (!is_tare_fp8(scaler) || !is_tare_fp8(wanted) || scaler.path != wanted.path) return false;
    const ScalerState now = tare_fp8_state(scaler), then = tare_fp8_state(wanted);
    return now.policy == then.policy && holds_the_same(now.params, then.params) &&
           holds_the_same(now.fields, then.fields);
  }

  static bool is_as_asked(const FoundScaler& scaler, const StateWork& state) {
    const FoundScaler& before = state.scaler->state();
    if (!state.is_whole) return same_state(scaler, state.after) || says_the_same(scaler, state.after);
    return scaler.dialect == before.dialect && same_values(extra_state_of(scaler), extra_state_of(before));
  }

  const Checkpoint& checkpoint_;
  const EditRequest& request_;
  std::size_t number_;
  const FileWork& work_;
  Reopened file_;
  FilePlan plan_;
};

}  // namespace

std::vector<FileEdit> file_edits(const Checkpoint& checkpoint, const Reopened& opened, std::vector<PartChange> parts) {
  std::vector<FileEdit> edits;
  edits.reserve(parts.size());
  for (PartChange& part : parts) {
    const CheckpointFile& file = checkpoint.files[opened.file_of_part(part.part)];
    FileEdit edit{file.location, std::move(part.change), {}, file.version};
    edit.change.patches.shrink_to_fit();  // there may be many thousands of files
    if (file.stamp) edit.planned = *file.stamp;
    edits.push_back(std::move(edit));
  }
  return edits;
}

FilePlan plan_file(const Checkpoint& checkpoint, const EditRequest& request, std::size_t number, const FileWork& work) {
  const CheckpointFile& file = checkpoint.files[number];
  FilePlan plan = naming(file.path, [&] { return FilePlanner(checkpoint, request, number, work).run(); });
  if (file.kept != nullptr) file.kept->image = Bytes();  // of thousands of files
  return plan;
}

}  // namespace tare
