#include "lib/attest/named_in_text.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "lib/attest/hugging_face_names.hpp"
#include "lib/attest/lightning_names.hpp"
#include "lib/attest/naming_keys.hpp"
#include "lib/attest/own_class.hpp"
#include "lib/attest/text_value.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/keras_config.hpp"

namespace tare {
namespace {

class NamesByKeys {
 public:
  NamesByKeys(const Tree& tree, std::span<const std::span<const NamingKey>> tables) : tree_(tree), tables_(tables) {}

  std::vector<GlobalName> all() && {
    for (NodeId node = 0; node < tree_.size(); ++node) {
      if (tree_.kind(node) == Kind::map) look_at(node);
    }
    return std::move(names_);
  }

 private:
  void look_at(NodeId map) {
    const auto pairs = tree_.items(map);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      if (tree_.kind(pairs[i]) != Kind::string) continue;
      const std::string_view text = tree_.text(pairs[i]);
      if (text == "__class__") add_class(map, pairs[i + 1]);
      if (const auto says = says_of(map, text)) take(*says, pairs[i + 1]);
    }
  }

  /// Of the first key of that text that has beside it what it needs.
  [[nodiscard]] std::optional<Says> says_of(NodeId map, std::string_view text) const {
    for (const auto keys : tables_) {
      const auto key = std::ranges::find(keys, text, &NamingKey::text);
      if (key == keys.end()) continue;
      if (!key->beside.empty()) tree_.take_steps(tree_.items(map).size());
      if (key->beside.empty() || tree_.find(map, key->beside) != nowhere) return key->says;
    }
    return std::nullopt;
  }

  /// A text, or those of a list or an object.
  void take(Says says, NodeId value) {
    if (const NodeId text = text_node(tree_, value); text != nowhere) return add(says, text);
    if (says == Says::likely_path || says == Says::likely_class) return;
    const std::size_t step = tree_.kind(value) == Kind::map ? 2 : 1;
    const auto items = tree_.items(value);
    for (std::size_t i = step - 1; i < items.size(); i += step) {
      if (tree_.kind(items[i]) == Kind::string) add(says, items[i]);
      for (const NodeId inner : tree_.items(items[i])) {
        if (step == 2 && tree_.kind(inner) == Kind::string) add(says, inner);
      }
    }
  }

  /// As skops has it: module and name apart.
  void add_class(NodeId map, NodeId value) {
    const NodeId module = tree_.find(map, "__module__");
    if (module == nowhere || tree_.kind(module) != Kind::string || tree_.kind(value) != Kind::string) return;
    keep({std::string(tree_.text(module)), std::string(tree_.text(value)), tree_.span(value).offset});
  }

  void add(Says says, NodeId value) {
    auto name = named(says, tree_.text(value), tree_.span(value).offset);
    if (name) keep(std::move(*name));
  }
  void keep(GlobalName name) {
    if (is_maker_of_lightning(name) || is_torch_class(name.module, name.name)) return;
    tree_.take_memory(memory_of(name));
    names_.push_back(std::move(name));
  }

  const Tree& tree_;
  std::span<const std::span<const NamingKey>> tables_;
  std::vector<GlobalName> names_;
};

/// In the order in which the first that holds counts.
std::vector<std::span<const NamingKey>> tables_for(const Tree& tree, TreeOrigin origin) {
  if (origin == TreeOrigin::json) return {naming_keys(), text_naming_keys(), lone_naming_keys()};
  std::vector<std::span<const NamingKey>> tables{naming_keys(), pickle_naming_keys()};
  if (tree.find(tree.root, "hyper_parameters") != nowhere) tables.push_back(hyperparameter_naming_keys());
  return tables;
}

/// Keras looks for its objects in lists and objects of any others, too.
bool holds_keras_object(const Tree& tree) {
  for (NodeId node = 0; node < tree.size(); ++node) {
    if (tree.kind(node) != Kind::map) continue;
    if (tree.find(node, "class_name") != nowhere && tree.find(node, "config") != nowhere) return true;
  }
  return false;
}

}  // namespace

std::vector<GlobalName> names_by_keys(const Tree& tree, TreeOrigin origin) {
  const auto tables = tables_for(tree, origin);
  std::vector<GlobalName> names = NamesByKeys(tree, tables).all();
  std::ranges::move(names_in_hugging_face(tree), std::back_inserter(names));
  return names;
}

std::vector<GlobalName> names_for_keras(const Tree& tree) {
  return holds_keras_object(tree) ? foreign_keras_names(tree) : std::vector<GlobalName>();
}

bool is_exported_program(const Tree& tree) {
  return tree.find(tree.root, "graph_module") != nowhere;
}

std::vector<std::string> files_outside(const Tree& tree) {
  std::vector<std::string> outside;
  const NodeId map = tree.find(tree.root, "weight_map");
  for (const NodeId node : tree.items(map)) {
    if (tree.kind(node) != Kind::string) continue;
    const std::string_view path = tree.text(node);
    const bool leads_out = path.starts_with('/') || path.starts_with("../") || path.find("/../") != path.npos ||
                           path.find('\\') != path.npos;
    if (!leads_out || outside.size() == limits::max_alike_findings) continue;
    if (std::ranges::find(outside, path) == outside.end()) outside.emplace_back(path);
  }
  return outside;
}

}  // namespace tare
