#include "lib/dialect/configuration.hpp"

#include <algorithm>

#include "lib/base/glob.hpp"
#include "lib/base/text.hpp"
#include "lib/dialect/python_source.hpp"
#include "lib/dialect/trainer.hpp"
#include "lib/tree/path.hpp"

namespace tare {
namespace {

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
void add_values(std::vector<ConfiguredValue>& values, const Tree& tree, NodeId node,
                std::span<const ConfigurationKey> keys, const std::string& path) {
  for (const ConfigurationKey& row : keys) {
    if (has(values, row.key)) continue;
    const NodeId at = tree.find(tree.fields(node), row.name);
    if (at == nowhere) continue;
    Value value = tree.value(at, 1);
    const Value* number = value.number();
    if (number == nullptr || std::holds_alternative<bool>(number->data)) continue;
    values.push_back({row.key, key_path(path, row.name), std::move(value)});
  }
}

void add_from(std::vector<ConfiguredValue>& values, std::span<const std::string_view> paths,
              std::span<const ConfigurationKey> keys, const Tree& tree, NodeId around,
              const std::function<std::string()>& path_of_around) {
  for (const std::string_view path : paths) {
    const NodeId node = at_path(tree, around, path);
    if (node == nowhere || tree.fields(node) == nowhere) continue;
    const std::string outer = path_of_around();
    add_values(values, tree, node, keys, outer.empty() ? std::string(path) : outer + "." + std::string(path));
  }
}

/// A float as Python's source has it: an int is none.
std::optional<double> python_float(std::string_view text) {
  return text.find_first_of(".e") == text.npos ? std::nullopt : parse_number(text);
}

std::optional<ConfiguredValue> value_in_text(const ConfigurationText& row, const Tree& tree) {
  const NodeId node = at_keys(tree, row.at);
  if (node == nowhere || tree.kind(node) != Kind::string) return std::nullopt;
  tree.take_steps(tree.text(node).size());
  const auto values = keyword_values(tree.text(node), row.statements, row.keyword);
  if (values.empty() || std::ranges::any_of(values, [&](auto one) { return one != values.front(); })) {
    return std::nullopt;
  }
  const auto number = python_float(values.front());
  if (!number) return std::nullopt;
  return ConfiguredValue{row.key, std::string(row.at) + ": " + std::string(row.keyword), Value{*number, "float"}};
}

/// Each once: a framework's dialects share them.
std::vector<const ConfigurationPlaces*> all_places() {
  std::vector<const ConfigurationPlaces*> all;
  for (const Dialect* dialect : dialects()) {
    const ConfigurationPlaces* places = dialect->configuration;
    if (places != nullptr && std::ranges::find(all, places) == all.end()) all.push_back(places);
  }
  return all;
}

}  // namespace

std::vector<ConfiguredValue> configuration_of(const FoundScaler& scaler, const TreeWalk& walk, std::uint32_t step,
                                              const Tree& tree, const FileContext& file) {
  std::vector<ConfiguredValue> values;
  if (scaler.dialect->configuration == nullptr) return values;
  const ConfigurationPlaces& places = *scaler.dialect->configuration;
  if (!places.around.empty()) {
    for (std::uint32_t around = step;; around = walk.step(around).parent) {
      add_from(values, places.around, places.keys, tree, walk.step(around).node, [&] { return walk.path(around); });
      if (around == 0) break;
    }
  }
  if (file.configuration != nullptr) {
    add_from(values, places.beside, places.keys, *file.configuration, file.configuration->root,
             [] { return std::string(); });
  }
  for (const ConfigurationText& row : places.texts) {
    if (!glob_matches(row.path, scaler.path)) continue;
    if (auto value = value_in_text(row, tree)) values.push_back(*std::move(value));
  }
  std::erase_if(values, [&](const ConfiguredValue& value) {
    const auto role = parse_role(value.key);
    return scaler.find(value.key) != nullptr || (role && scaler.find(*role) != nullptr);
  });
  return values;
}

std::vector<SavedConfiguration> find_configurations(const Tree& tree) {
  std::vector<SavedConfiguration> found;
  static const std::vector<const ConfigurationPlaces*> all = all_places();
  for (const ConfigurationPlaces* places : all) {
    for (const std::string_view& path : places->around) {
      std::vector<ConfiguredValue> values;
      add_from(values, {&path, 1}, places->keys, tree, tree.root, [] { return std::string(); });
      if (!values.empty()) found.push_back({places, std::move(values)});
    }
  }
  return found;
}

}  // namespace tare
