#include "lib/attest/allennlp_names.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/attest/naming_keys.hpp"
#include "lib/attest/own_class.hpp"
#include "lib/attest/text_value.hpp"

namespace tare {
namespace {

/// Keys of a whole configuration of AllenNLP's.
constexpr auto allennlp_marks = std::to_array<std::string_view>({"data_loader", "dataset_reader"});

class AllenNames {
 public:
  explicit AllenNames(const Tree& tree) : tree_(tree) {}

  std::vector<GlobalName> all() && {
    const bool is_allennlp = std::ranges::any_of(
        allennlp_marks, [&](std::string_view mark) { return tree_.find(tree_.root, mark) != nowhere; });
    if (!is_allennlp && !has_steps()) return {};
    look_at_packages(tree_.find(tree_.root, "include_package"));
    for (NodeId map = 0; map < tree_.size(); ++map) {
      if (tree_.kind(map) == Kind::map) look_at(map, is_allennlp);
    }
    return std::move(names_);
  }

 private:
  /// Tango's are a map of maps.
  [[nodiscard]] bool has_steps() const {
    const NodeId steps = tree_.find(tree_.root, "steps");
    if (steps == nowhere || tree_.kind(steps) != Kind::map) return false;
    const auto pairs = tree_.items(steps);
    for (std::size_t i = 1; i < pairs.size(); i += 2) {
      if (tree_.kind(pairs[i]) != Kind::map) return false;
    }
    return !pairs.empty();
  }

  void look_at_packages(NodeId packages) {
    if (packages == nowhere) return;
    if (const std::string_view one = text_in(tree_, packages); !one.empty()) add_package(one, packages);
    for (const NodeId node : tree_.items(packages)) {
      if (const std::string_view one = text_in(tree_, node); !one.empty()) add_package(one, node);
    }
  }
  void add_package(std::string_view package, NodeId node) {
    const bool is_own = package == "allennlp_models" || package.starts_with("allennlp_models.");
    if (!is_own) keep({std::string(package), "(imported)", tree_.span(node).offset});
  }

  /// AllenNLP takes a text in the place of an object for its type.
  void look_at(NodeId map, bool takes_texts) {
    const auto pairs = tree_.items(map);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const bool is_type = text_in(tree_, pairs[i]) == "type";
      const std::string_view path = text_in(tree_, pairs[i + 1]);
      if (path.empty() || (!is_type && !takes_texts)) continue;
      const Says says = is_type ? Says::path : Says::likely_class;
      if (auto name = named(says, path, tree_.span(pairs[i + 1]).offset)) keep(*std::move(name));
    }
  }

  void keep(GlobalName name) {
    if (is_own_class("allennlp", name.module, name.name)) return;
    tree_.take_memory(memory_of(name));
    names_.push_back(std::move(name));
  }

  const Tree& tree_;
  std::vector<GlobalName> names_;
};

}  // namespace

std::vector<GlobalName> names_for_allennlp(const Tree& tree) {
  return AllenNames(tree).all();
}

}  // namespace tare
