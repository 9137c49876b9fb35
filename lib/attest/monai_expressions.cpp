#include "lib/attest/monai_expressions.hpp"

#include <algorithm>
#include <array>

#include "lib/attest/naming_keys.hpp"

namespace tare {
namespace {

constexpr auto keys_of_bundles = std::to_array<std::string_view>(
    {"_target_", "bundle_root", "ckpt_dir", "dataloader", "dataset_dir", "device", "evaluator", "handlers", "imports",
     "inferer", "initialize", "network", "network_def", "postprocessing", "preprocessing", "run", "train", "trainer",
     "validate"});

}  // namespace

std::span<const std::string_view> monai_keys() {
  return keys_of_bundles;
}

bool runs_something(std::string_view expression) {
  return expression.find('(') != expression.npos || expression.starts_with("import") || expression.starts_with("from");
}

std::vector<GlobalName> names_in_monai_bundle(const Tree& tree) {
  const bool is_bundle =
      std::ranges::any_of(keys_of_bundles, [&](std::string_view key) { return tree.find(tree.root, key) != nowhere; });
  std::vector<GlobalName> names;
  for (NodeId node = 0; is_bundle && node < tree.size(); ++node) {
    if (tree.kind(node) != Kind::string) continue;
    const std::string_view text = tree.text(node);
    if (!text.starts_with('$') || !runs_something(text.substr(1))) continue;
    names.push_back({"builtins", "eval", tree.span(node).offset});
    tree.take_memory(memory_of(names.back()));
  }
  return names;
}

}  // namespace tare
