// tare's own states: {"schema": "tare.state/1", "policy", "params", "fields", "roles", ...}, in JSON as keys, in HDF5
// as groups and attributes; and {"schema": "tare.states/1"}, a list of them by path. Roles are a view of the same
// values: what changes a field changes its role. Source: lib/codec.
#include "lib/dialect/frameworks/tare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/text.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/state_value.hpp"
#include "lib/dialect/tare_fp8.hpp"
#include "lib/state/fp8_policy.hpp"
#include "lib/state/monitor_state.hpp"
#include "lib/state/named_state.hpp"
#include "lib/state/policy_value.hpp"

namespace tare {
namespace {

struct Section {
  std::string_view name;
  StateSection ScalerState::*member;
};

constexpr std::array tare_sections = {Section{"fields", &ScalerState::fields}, Section{"params", &ScalerState::params},
                                      Section{"statistics", &ScalerState::statistics},
                                      Section{"other", &ScalerState::other}};

constexpr Dialect own(std::string_view framework, Growth growth) {
  Dialect dialect;
  dialect.name = name_of_own;
  dialect.framework = framework;
  dialect.growth = growth;
  dialect.is_whole_file = true;
  return dialect;
}

/// By what makes the policies' rules grow; the last one where the state does not say: a fixed scale, counters that
/// wrap.
constexpr Dialect tare_counting = own("a state of tare's", Growth::when_equal);
constexpr Dialect tare_counting_on = own("a state of tare's", Growth::when_at_least);
constexpr Dialect tare_by_multiple = own("a state of tare's", Growth::modulo);
constexpr Dialect tare_by_later_multiple = own("a state of tare's", Growth::modulo_after_one);
constexpr Dialect tare_by_distance = own("a state of tare's", Growth::when_reached);
constexpr Dialect tare_unsaid = own("a state of tare's", Growth::not_stored);

struct Row {
  std::string_view policy;
  const Dialect* dialect;
};

constexpr auto tare_rows = std::to_array<Row>({
    {"torch", &tare_counting},
    {"torch_npu", &tare_counting},
    {"bmtrain", &tare_counting_on},
    {"oneflow", &tare_counting_on},
    {"nemo", &tare_counting},
    {"apex", &tare_counting},
    {"apex_contrib", &tare_by_multiple},
    {"apex_fp16_utils", &tare_by_multiple},
    {"megatron", &tare_counting},
    {"deepspeed", &tare_by_later_multiple},
    {"flax", &tare_counting},
    {"keras", &tare_counting},
    {"tf_keras", &tare_counting_on},
    {"paddle", &tare_counting},
    {"paddle_static", &tare_counting},
    {"mindspore_amp", &tare_counting},
    {"mindspore", &tare_by_distance},
    {"mindformers_adaptive", &tare_by_distance},
});

const Dialect& dialect_of(std::string_view policy) {
  const auto row = std::ranges::find(tare_rows, policy, &Row::policy);
  return row == tare_rows.end() ? tare_unsaid : *row->dialect;
}

/// The text under a key, or in the attribute of that name, which HDF5 has instead.
std::string text_under(const Tree& tree, NodeId map, std::string_view key) {
  NodeId node = tree.find(map, key);
  if (node == nowhere) node = tree.find(map, fmt::format("@{}", key));
  return node == nowhere || tree.kind(node) != Kind::string ? std::string() : std::string(tree.text(node));
}

constexpr std::string_view any_state_schema = state_schema.substr(0, state_schema.find('/') + 1);

constexpr std::string_view any_states_schema = states_schema.substr(0, states_schema.find('/') + 1);

std::string newer(std::string_view schema) {
  return fmt::format("a state of tare's of the schema {}, which a newer tare reads", escaped(schema));
}

/// Of a scaler; of which a file that people wrote has no more than the policy and its fields.
bool is_state(const Tree& tree, NodeId map) {
  const std::string schema = text_under(tree, map, "schema");
  const std::string policy = text_under(tree, map, own_policy_field);
  if (policy == monitor_policy) return false;
  if (!schema.empty()) return schema.starts_with(any_state_schema);  // what is no text is told of
  return tree.find(map, "fields") != nowhere && !policy.empty() && rule::find_policy(policy) != nullptr;
}

/// JSON has no other way to write what is not finite.
std::optional<double> not_finite(std::string_view text) {
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

/// Values of a state that are more than what a tree says of their nodes.
std::optional<Value> value_in(const Tree& tree, NodeId node) {
  if (tree.kind(node) == Kind::string) {
    const auto number = not_finite(tree.text(node));
    return number ? std::optional(Value{*number, "float"}) : std::nullopt;
  }
  if (tree.kind(node) != Kind::list) return std::nullopt;
  constexpr std::size_t longest = 4096;
  if (tree.items(node).empty() || tree.items(node).size() > longest) return std::nullopt;
  ValueList items;
  for (const NodeId item : tree.items(node)) items.push_back(tree.value(item, 1));
  return Value{std::move(items), "list"};
}

/// The roles of a state as the file holds them, or as they are after a change.
StateSection roles_in(const Tree& tree, NodeId roles, const std::map<NodeId, Value>& changed = {}) {
  StateSection section;
  const auto pairs = tree.items(roles);
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const NodeId node = pairs[i + 1];
    const auto other = changed.find(node);
    const Value value = other != changed.end() ? other->second : value_in(tree, node).value_or(tree.value(node, 1));
    section.set(tree.key_text(pairs[i]), state_value(value));
  }
  return section;
}

/// Nobody has changed them since they were written.
bool are_roles_as_written(const Tree& tree, NodeId state, const StateSection& roles) {
  return text_under(tree, state, "roles_crc32") == roles_checksum(roles);
}

/// What the sections of one state's map come to.
class OwnStateReader {
 public:
  OwnStateReader(const Tree& tree, NodeId map) : tree_(tree), map_(map), roles_(tree.find(map, "roles")) {}

  Match read(std::string path) {
    Match match;
    match.path = std::move(path);
    const std::string policy = text_under(tree_, map_, own_policy_field);
    match.dialect = &dialect_of(policy);
    if (const std::string schema = text_under(tree_, map_, "schema"); !schema.empty() && schema != state_schema) {
      match.problem = newer(schema);
      return match;
    }
    if (policy.empty() || policy.size() > limits::max_text_value_bytes) {
      match.problem = "a state of tare's whose policy is no name";
      return match;
    }
    if (const auto problem = misshapen()) {
      match.problem = *problem;
      return match;
    }
    if (find_fp8_policy(policy) != nullptr) return fp8(std::move(match), policy);
    try {
      spec_ = policy_of(named(policy));
    } catch (const Error& error) {
      match.problem = error.what();
    }
    add_policy(match);
    for (const Section& section : tare_sections) add(match, section.name);
    if (!is_hdf5()) add_others(match);
    if (match.problem.empty()) match.problem = problem_;
    return match;
  }

 private:
  /// A part of the state that is nothing of the kind, which no reader of states takes.
  [[nodiscard]] std::optional<std::string> misshapen() const {
    const NodeId schema = tree_.find(map_, "schema");
    if (schema != nowhere && tree_.kind(schema) != Kind::string) return "a state of tare's whose \"schema\" is no text";
    for (const std::string_view part : {"params", "fields", "roles", "statistics"}) {
      const NodeId node = tree_.find(map_, part);
      if (node == nowhere || tree_.kind(node) == Kind::map) continue;
      return fmt::format("a state of tare's whose \"{}\" is no object", part);
    }
    return std::nullopt;
  }

  [[nodiscard]] Match fp8(Match match, const std::string& policy) const {
    Match found = tare_fp8_match(tree_, map_, policy);
    found.path = std::move(match.path);
    return found;
  }

  /// As much of the state as tells its policy's variant.
  [[nodiscard]] ScalerState named(const std::string& policy) const {
    ScalerState state;
    state.policy = policy;
    const NodeId params = tree_.find(map_, "params");
    const auto pairs = tree_.items(params);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const Value value = tree_.value(pairs[i + 1], 1);
      if (const auto* word = std::get_if<std::string>(&value.data)) state.params.set(tree_.key_text(pairs[i]), *word);
    }
    return state;
  }

  void add_policy(Match& match) const {
    NodeId node = tree_.find(map_, own_policy_field);
    if (node == nowhere) node = tree_.find(map_, "@policy");
    if (node != nowhere) match.parts.push_back({std::string(own_policy_field), node});
  }

  void add(Match& match, std::string_view section) {
    const auto pairs = tree_.items(tree_.find(map_, section));
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const std::string key = tree_.key_text(pairs[i]);
      if (key.starts_with('@')) continue;  // HDF5's attributes say what a value is
      Match::Part part{fmt::format("{}.{}", section, key), pairs[i + 1], role_of(section, key)};
      if (auto value = value_in(tree_, part.node)) part.value = std::make_shared<const Value>(std::move(*value));
      if (part.role) add_mirror(part);
      match.parts.push_back(std::move(part));
    }
  }

  [[nodiscard]] bool is_hdf5() const { return tree_.find(map_, "@policy") != nowhere; }

  /// What stands beside the sections, which HDF5 has in one of its own; the first of very many.
  void add_others(Match& match) const {
    constexpr std::size_t most_others = 64;
    const NodeId others = tree_.find(map_, "other");
    std::size_t count = 0;
    constexpr auto known = std::to_array<std::string_view>(
        {"schema", "policy", "params", "fields", "roles", "roles_crc32", "statistics", "other"});
    const auto pairs = tree_.items(map_);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const std::string key = tree_.key_text(pairs[i]);
      if (std::ranges::find(known, key) != known.end() || tree_.find(others, key) != nowhere) continue;
      if (++count > most_others) return;
      match.parts.push_back({fmt::format("other.{}", key), pairs[i + 1]});
    }
  }

  [[nodiscard]] std::optional<Role> role_of(std::string_view section, const std::string& key) const {
    if (spec_ == nullptr) return std::nullopt;
    if (section == "fields") {
      const auto* field = rule::find_field(*spec_, key);
      return field == nullptr ? std::nullopt : parse_role(field->role);
    }
    const auto* parameter = section == "params" ? rule::find_parameter(*spec_, key) : nullptr;
    return parameter == nullptr ? std::nullopt : parse_role(parameter->role);
  }

  /// The role that repeats a value; a policy may give one role to a parameter and a field, of which the field has it.
  void add_mirror(Match::Part& part) {
    const NodeId role = tree_.find(roles_, name(*part.role));
    if (role == nowhere || !mirrored_.insert({*part.role, role}).second) return;
    part.mirror = role;
    const Value here = part.value ? *part.value : tree_.value(part.node, 1);
    const Value there = value_in(tree_, role).value_or(tree_.value(role, 1));
    // Where the roles are as they were written it was the field that was changed, and it counts.
    if (same(here, there) || is_alike(here, there)) return;
    if (are_roles_as_written(tree_, map_, roles_in(tree_, roles_))) return;
    problem_ = fmt::format("roles.{} is not what {} holds: one of them was changed, and nobody can know which",
                           name(*part.role), part.name);
  }

  /// 1 and 1.0 say the same.
  static bool is_alike(const Value& a, const Value& b) {
    return a.number() != nullptr && b.number() != nullptr && a.as_double() == b.as_double();
  }

  const Tree& tree_;
  NodeId map_;
  NodeId roles_;
  const rule::PolicySpec* spec_ = nullptr;
  std::map<Role, NodeId> mirrored_;
  std::string problem_;
};

/// Calls `see` with each state's map and its path, which stands beside it in a file of several.
template <class See>
void each_state(const Tree& tree, NodeId root, const See& see) {
  if (is_state(tree, root)) return see(root, std::string());
  if (text_under(tree, root, "schema") != states_schema) return;
  const auto see_one = [&](NodeId item, NodeId state) {
    if (is_state(tree, state)) see(state, text_under(tree, item, "path"));
  };
  const NodeId states = tree.find(root, "states");
  const auto items = tree.items(states);
  if (tree.kind(states) == Kind::list) {
    for (const NodeId item : items) see_one(item, tree.find(item, "state"));
  } else {  // of HDF5, groups by their numbers
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) see_one(items[i + 1], items[i + 1]);
  }
}

Matches find_in_tare(const Tree& tree, NodeId map, NodeId root) {
  Matches matches;
  if (map != root) return matches;
  each_state(tree, root, [&](NodeId state, std::string path) {
    matches.push_back(OwnStateReader(tree, state).read(std::move(path)));
  });
  const std::string schema = text_under(tree, root, "schema");
  if (schema.starts_with(any_states_schema) && schema != states_schema) {
    matches.emplace_back();
    matches.back().dialect = &tare_unsaid;
    matches.back().problem = newer(schema);
  }
  return matches;
}

}  // namespace

constinit const Dialect tare_state = {
    .name = name_of_own,
    .framework = "tare",
    .form = Form::map,
    .find_in = find_in_tare,
    .is_whole_file = true,
};

bool is_own(const FoundScaler& scaler) {
  return scaler.dialect->name == name_of_own;
}

std::vector<RolesChecksum> roles_checksums(const Tree& tree, const std::map<NodeId, Value>& changed) {
  std::vector<RolesChecksum> found;
  if (changed.empty()) return found;
  each_state(tree, tree.root, [&](NodeId state, const std::string&) {
    const NodeId roles = tree.find(state, "roles");
    const StateSection before = roles_in(tree, roles);
    const StateSection after = roles_in(tree, roles, changed);
    if (before == after || !are_roles_as_written(tree, state, before)) return;
    found.push_back({tree.find(state, "roles_crc32"), roles_checksum(after)});
  });
  return found;
}

ScalerState own_state(const FoundScaler& scaler) {
  ScalerState state;
  for (const Field& field : scaler.fields) {
    if (field.name == own_policy_field) {
      state.policy = std::get<std::string>(field.value.data);
      continue;
    }
    const std::size_t dot = field.name.find('.');
    const auto section = std::ranges::find(tare_sections, field.name.substr(0, dot), &Section::name);
    (state.*section->member).set(field.name.substr(dot + 1), state_value(field.value));
  }
  normalise(state);
  return state;
}

}  // namespace tare
