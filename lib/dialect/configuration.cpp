#include "lib/dialect/configuration.hpp"

#include <algorithm>
#include <array>

#include "lib/tree/path.hpp"

namespace tare {
namespace {

/// Where a dialect's framework keeps its configuration: keys with dots between them, from a map around the state or
/// from the file's own configuration. A list of one item is seen through.
struct Place {
  std::string_view dialect;
  std::string_view path;
};

// Sources: megatron/training/checkpointing.py (generate_state_dict), deepspeed/runtime/engine.py and
// zero/stage_1_and_2.py (state_dict), fairseq/trainer.py, keras/src/saving/saving_lib.py and
// legacy/saving/legacy_h5_format.py.
constexpr auto places = std::to_array<Place>({
    {"megatron", "args"},
    {"megatron", "common_state/shard_0_1.args"},
    {"deepspeed", "ds_config.fp16"},
    {"fairseq", "cfg.common"},
    {"fairseq", "args"},
});
constexpr auto places_in_configuration = std::to_array<Place>({
    {"keras", "compile_config.optimizer.config"},
    {"keras", "optimizer_config.config"},
});

struct Key {
  std::string_view dialect;
  std::string_view name;  ///< in that configuration
  std::string_view key;   ///< as ConfiguredValue has it
};

constexpr auto keys = std::to_array<Key>({
    {"megatron", "initial_loss_scale", "initial_scale"},
    {"megatron", "min_loss_scale", "min_scale"},
    {"megatron", "loss_scale_window", "growth_interval"},
    {"megatron", "hysteresis", "hysteresis"},
    {"deepspeed", "min_loss_scale", "min_scale"},
    {"deepspeed", "loss_scale_window", "growth_interval"},
    {"deepspeed", "hysteresis", "hysteresis"},
    {"fairseq", "fp16_init_scale", "initial_scale"},
    {"fairseq", "min_loss_scale", "min_scale"},
    {"fairseq", "fp16_scale_window", "growth_interval"},
    {"fairseq", "fp16_scale_tolerance", "tolerance"},
    {"fairseq", "threshold_loss_scale", "threshold"},
    {"keras", "initial_scale", "initial_scale"},
    {"keras", "dynamic_growth_steps", "growth_interval"},
});

NodeId seen_through(const Tree& tree, NodeId node) {
  const bool is_one = node != nowhere && tree.kind(node) == Kind::list && tree.items(node).size() == 1;
  return is_one ? tree.items(node).front() : node;
}

NodeId at_path(const Tree& tree, NodeId node, std::string_view path) {
  while (!path.empty() && node != nowhere) {
    const std::size_t dot = path.find('.');
    node = seen_through(tree, tree.find(tree.fields(node), path.substr(0, dot)));
    path = dot == path.npos ? std::string_view() : path.substr(dot + 1);
  }
  return node;
}

bool has(const std::vector<ConfiguredValue>& values, std::string_view key) {
  return std::any_of(values.begin(), values.end(), [&](const ConfiguredValue& value) { return value.key == key; });
}

/// Adds what `node` says of what is not known yet. "auto" and None are no numbers.
void add_values(std::vector<ConfiguredValue>& values, const Tree& tree, NodeId node, std::string_view dialect,
                const std::string& path) {
  for (const Key& row : keys) {
    if (row.dialect != dialect || has(values, row.key)) continue;
    const NodeId at = tree.find(tree.fields(node), row.name);
    if (at == nowhere) continue;
    Value value = tree.value(at, 1);
    const Value* number = value.number();
    if (number == nullptr || std::holds_alternative<bool>(number->data)) continue;
    values.push_back({row.key, key_path(path, row.name), std::move(value)});
  }
}

void add_from(std::vector<ConfiguredValue>& values, std::span<const Place> rows, const Tree& tree, NodeId around,
              std::string_view dialect, const std::function<std::string()>& path_of_around) {
  for (const Place& row : rows) {
    if (row.dialect != dialect) continue;
    const NodeId node = at_path(tree, around, row.path);
    if (node == nowhere || tree.fields(node) == nowhere) continue;
    const std::string outer = path_of_around();
    add_values(values, tree, node, dialect,
               outer.empty() ? std::string(row.path) : outer + "." + std::string(row.path));
  }
}

}  // namespace

std::vector<ConfiguredValue> configuration_of(const FoundScaler& scaler, const TreeWalk& walk, std::uint32_t step,
                                              const Tree& tree, const FileContext& file) {
  const std::string_view dialect = scaler.dialect->name;
  const auto is_it = [&](const auto& row) { return row.dialect == dialect; };
  std::vector<ConfiguredValue> values;
  if (std::any_of(places.begin(), places.end(), is_it)) {
    for (std::uint32_t around = step;; around = walk.step(around).parent) {
      add_from(values, places, tree, walk.step(around).node, dialect, [&] { return walk.path(around); });
      if (around == 0) break;
    }
  }
  if (file.configuration != nullptr) {
    add_from(values, places_in_configuration, *file.configuration, file.configuration->root, dialect,
             [] { return std::string(); });
  }
  std::erase_if(values, [&](const ConfiguredValue& value) {
    const auto role = parse_role(value.key);
    return scaler.find(value.key) != nullptr || (role && scaler.find(*role) != nullptr);
  });
  return values;
}

std::vector<SavedConfiguration> find_configurations(const Tree& tree) {
  std::vector<SavedConfiguration> found;
  for (const Place& row : places) {
    std::vector<ConfiguredValue> values;
    add_from(values, {&row, 1}, tree, tree.root, row.dialect, [] { return std::string(); });
    if (!values.empty()) found.push_back({row.dialect, std::move(values)});
  }
  return found;
}

}  // namespace tare
