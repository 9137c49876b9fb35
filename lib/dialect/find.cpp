// Scalers in a tree: every dict and every object's attributes are held against the dialects' tables.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "lib/base/error.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/seen_hashes.hpp"
#include "lib/dialect/configuration.hpp"
#include "lib/dialect/place.hpp"
#include "lib/dialect/resume.hpp"
#include "lib/dialect/telltales.hpp"
#include "lib/dialect/trainer.hpp"
#include "lib/dialect/walk.hpp"
#include "lib/state/fp8_set.hpp"
#include "lib/tree/path.hpp"
#include "lib/tree/reads_ahead.hpp"

namespace tare {
namespace {

/// A scaler's own field has one element; this is for what others put beside.
constexpr std::uint64_t max_elements = 4096;
/// What is told of ways to one and the same scaler, and for how many scalers.
constexpr std::size_t max_other_paths = 16;
constexpr std::size_t max_with_other_paths = 256;

const FieldRule* rule_for(const Dialect& dialect, std::string_view name) {
  const auto is_it = [&](const FieldRule& rule) { return rule.name == name; };
  const auto rule = std::find_if(dialect.fields.begin(), dialect.fields.end(), is_it);
  return rule == dialect.fields.end() ? nullptr : &*rule;
}

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Finder {
 public:
  Finder(const Tree& tree, const FileContext& file, std::vector<Finding>& findings, const OnFound& on_found)
      : tree_(tree),
        file_(file),
        findings_(findings),
        on_found_(on_found),
        walk_(tree),
        telltales_(tree),
        root_(tree.fields(tree.root)) {}

  /// A model's scales lie scattered between its weights: far away, one after the other would take long. Those that
  /// find() will ask for.
  std::vector<NodeId> read_by_find() {
    std::vector<NodeId> nodes;
    const auto add = [&](const Dialect&, const Match& match) {
      if (match.holder != nowhere) nodes.push_back(match.holder);
      for (const Match::Part& part : match.parts) {
        if (!part.value) nodes.push_back(part.node);
      }
    };
    while (walk_.next()) {
      const NodeId node = walk_.step(walk_.current()).node;
      if (tree_.items(node).empty() || tree_.kind(node) != Kind::map) continue;
      owner_ = walk_.owner(walk_.current());
      for_each_match(node, add);
    }
    return nodes;
  }

  FoundScalers find() {
    while (walk_.next()) {
      const NodeId node = walk_.step(walk_.current()).node;
      if (tree_.items(node).empty() || tree_.kind(node) != Kind::map) continue;
      owner_ = walk_.owner(walk_.current());
      if (telltales_.of(node).has_telltale) try_tables(node);
      try_finders(node);
      if (has_whole_file_) break;
    }
    for (const Dialect* dialect : dialects()) {
      if (dialect->tell_loading == nullptr) continue;
      for (Finding& finding : dialect->tell_loading(tree_, file_.name)) findings_.push_back(std::move(finding));
    }
    for (std::size_t i = 0; i < std::min(found_.size(), max_with_other_paths); ++i) {
      found_[i].also_at = walk_.other_paths(steps_[i], max_other_paths);
    }
    return std::move(found_);
  }

 private:
  void try_tables(NodeId map) {
    for (const Dialect* dialect : dialects()) {
      if (dialect->find_in != nullptr || !has_required_keys(*dialect, map) || !stands_right(*dialect)) continue;
      take(*dialect, map);
      return;
    }
  }

  /// Calls `take` with each match in `map`, and whose it is.
  template <typename Take>
  void for_each_match(NodeId map, const Take& take) {
    const Told told = telltales_.of(map);
    for (const TellingFinder& finder : telling_finders()) {
      if (!finder.may_find(told) || !stands_right(*finder.dialect)) continue;
      const Dialect* dialect = finder.dialect;
      Matches matches = dialect->find_in(tree_, map, root_);
      for (; !matches.empty(); matches.pop_front()) {  // what is made of them takes as much: not both at a time
        const Match& match = matches.front();
        take(match.dialect != nullptr ? *match.dialect : *dialect, match);
      }
    }
  }

  void try_finders(NodeId map) {
    for_each_match(map, [&](const Dialect& dialect, const Match& match) { take(dialect, map, match); });
  }

  [[nodiscard]] bool has_required_keys(const Dialect& dialect, NodeId map) const {
    return std::all_of(dialect.fields.begin(), dialect.fields.end(),
                       [&](const FieldRule& rule) { return !rule.required || tree_.find(map, rule.name) != nowhere; });
  }

  [[nodiscard]] bool stands_right(const Dialect& dialect) const {
    if ((owner_ != nowhere) != (dialect.form == Form::object)) return false;
    if (owner_ != nowhere && !is_class(dialect, tree_.qualified_name(owner_))) return false;
    if (!dialect.under.empty() && walk_.last_key(walk_.current()) != dialect.under) return false;
    const auto is_at_root = [&](std::string_view keys) { return at_keys(tree_, keys) != nowhere; };
    return dialect.beside_root_keys.empty() ||
           std::any_of(dialect.beside_root_keys.begin(), dialect.beside_root_keys.end(), is_at_root);
  }

  [[nodiscard]] static bool is_class(const Dialect& dialect, const QualifiedName& name) {
    if (!dialect.class_names.empty() && !contains(dialect.class_names, name.name)) return false;
    return dialect.module_parts.empty() ||
           std::any_of(dialect.module_parts.begin(), dialect.module_parts.end(),
                       [&](std::string_view part) { return has_part(name.module, part); });
  }

  /// A scaler without fields, at the map where the walk stands.
  [[nodiscard]] FoundScaler begun(const Dialect& dialect, NodeId map) const {
    FoundScaler scaler;
    scaler.dialect = &dialect;
    scaler.path = walk_.path(walk_.current());
    scaler.node = dialect.form == Form::object ? owner_ : map;
    std::ranges::copy_if(dialect.telling_keys, std::back_inserter(scaler.beside),
                         [&](std::string_view key) { return tree_.find(map, key) != nowhere; });
    return scaler;
  }

  /// Paths are written as text: the keys 1 and "1", or "a.b" and the "b" in an "a", lead to the same. The second that
  /// is called "1" is "1#2": it is no copy of the first.
  void tell_apart(FoundScaler& scaler) {
    if (is_first_called(scaler)) return;
    const std::string path = scaler.path;
    std::size_t& times = called_again_.try_emplace(path, 1).first->second;
    do {
      tree_.take_steps(path.size());
      scaler.path = fmt::format("{}#{}", path, ++times);
    } while (!is_first_called(scaler));
  }

  bool is_first_called(const FoundScaler& scaler) {
    return called_.insert(KeyedHash()(scaler.path) ^ KeyedHash()(scaler.dialect->name) << 1);
  }

  void keep(FoundScaler scaler) {
    if (found_.size() == limits::max_scalers) {
      throw Error(Status::refused, fmt::format("{}: more than {} scalers", file_.name, limits::max_scalers));
    }
    tell_apart(scaler);
    tree_.keep_memory(sizeof(FoundScaler) + 2 * scaler.path.size() + scaler.fields.size() * sizeof(Field));
    const KnownPlace place = place_of(scaler, file_, tree_);
    scaler.place = place.trainer;
    scaler.authority = place.authority;
    scaler.growth_of_release = growth_of_release(tree_, *scaler.dialect);
    scaler.configuration = configuration_of(scaler, walk_, walk_.current(), tree_, file_);
    if (on_found_) on_found_(scaler);
    found_.push_back(std::move(scaler));
    steps_.push_back(walk_.current());
  }

  void take(const Dialect& dialect, NodeId map, const Match& match) {
    has_whole_file_ = has_whole_file_ || dialect.is_whole_file;
    FoundScaler scaler = begun(dialect, map);
    if (!match.path.empty()) scaler.path = key_path(scaler.path, match.path);
    std::string problem = match.problem;
    if (match.holder != nowhere) {
      try {
        read_document(match, scaler.fields);
      } catch (const Error& error) {
        if (tree_.budget() != nullptr && tree_.budget()->is_spent()) throw;
        problem = error.what();
      }
    }
    if (!problem.empty()) {
      findings_.push_back({Severity::warning, "state-not-read", problem, "", scaler.path});
      return;
    }
    // Sets of tare's own may have more entries than any framework's field, and the file holds nothing else.
    const std::uint64_t most = dialect.is_whole_file ? most_fp8_history_entries : limits::max_field_elements;
    for (const Match::Part& part : match.parts) scaler.fields.push_back(seen(tree_, part, most));
    if (scaler.fields.empty()) return;
    if (match.dialect_of != nullptr) scaler.dialect = match.dialect_of(scaler);
    keep(std::move(scaler));
  }

  /// The document lives no longer than this: a model has thousands.
  void read_document(const Match& match, std::vector<Field>& fields) const {
    const std::shared_ptr<const Tree> document = tree_.open(match.holder);
    if (document == nullptr) return;
    for (const Match::Part& part : match.parts_in(*document)) {
      Field& field = fields.emplace_back(seen(*document, part, limits::max_field_elements));
      field.node = match.holder;
      field.inside = {part.node};
    }
  }

  static Field seen(const Tree& tree, const Match::Part& part, std::uint64_t most_elements) {
    const auto stored = [&] { return tree.value(part.node, most_elements); };
    Field field{part.name, part.role, part.value ? *part.value : stored(), part.node, false};
    field.mirror = part.mirror;
    const bool has_number = field.value.number() != nullptr && tree.kind(part.node) != Kind::list;
    field.editable = has_number || std::holds_alternative<PackedArray>(field.value.data);
    return field;
  }

  void take(const Dialect& dialect, NodeId map) {
    FoundScaler scaler = begun(dialect, map);
    const auto pairs = tree_.items(map);
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      const std::string name = tree_.key_text(pairs[i]);
      const FieldRule* rule = tree_.kind(pairs[i]) == Kind::string ? rule_for(dialect, name) : nullptr;
      if ((dialect.form == Form::part && rule == nullptr) || contains(dialect.left_out, name)) continue;
      scaler.fields.push_back(field(name, rule == nullptr ? std::nullopt : rule->role, pairs[i + 1]));
      if (rule != nullptr && rule->required && !check(scaler, scaler.fields.back())) return;
    }
    keep(std::move(scaler));
  }

  [[nodiscard]] Field field(const std::string& name, std::optional<Role> role, NodeId node) const {
    Field field{name, role, tree_.value(node, max_elements), node, false};
    field.editable = field.value.number() != nullptr;
    return field;
  }

  /// A required field holds a number, or this is no scaler: told, unless there is nothing at all.
  bool check(const FoundScaler& scaler, const Field& field) {
    if (field.value.number() != nullptr) return true;
    if (field.value.type == "None") return false;
    findings_.push_back({Severity::warning, "scaler-not-readable",
                         fmt::format("looks like the state of {}, but {} is no number ({})", scaler.dialect->framework,
                                     field.name, field.value.type),
                         "", scaler.path});
    return false;
  }

  const Tree& tree_;
  const FileContext& file_;
  std::vector<Finding>& findings_;
  const OnFound& on_found_;
  TreeWalk walk_;
  Telltales telltales_;
  NodeId root_;
  NodeId owner_ = nowhere;  ///< the object whose attributes are in the map where the walk stands
  bool has_whole_file_ = false;
  FoundScalers found_;
  std::vector<std::uint32_t> steps_;                           ///< of found_, in the walk
  SeenHashes called_;                                          ///< of found_, by path and dialect
  std::unordered_map<std::string, std::size_t> called_again_;  ///< how often
};

}  // namespace

FoundScalers find_scalers(const Tree& tree, const FileContext& file, std::vector<Finding>& findings,
                          const OnFound& on_found) {
  if (const ReadsAhead* reader = far_reader(tree)) {
    reader->read_ahead(Finder(tree, file, findings, on_found).read_by_find());
  }
  return Finder(tree, file, findings, on_found).find();
}

}  // namespace tare
