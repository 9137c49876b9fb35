#include "lib/attest/monai_expressions.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "lib/attest/naming_keys.hpp"
#include "lib/attest/python_expression.hpp"
#include "lib/attest/text_value.hpp"

namespace tare {
namespace {

constexpr auto keys_of_bundles = std::to_array<BundleKey>({
    {"_meta_", BundleSign::always},
    {"bundle_root", BundleSign::always},
    {"ckpt_dir", BundleSign::as_expression},
    {"dataloader", BundleSign::as_expression},
    {"dataset", BundleSign::as_expression},
    {"dataset_dir", BundleSign::as_expression},
    {"device", BundleSign::as_expression},
    {"evaluator", BundleSign::as_expression},
    {"finalize", BundleSign::as_actions},
    {"handlers", BundleSign::as_expression},
    {"imports", BundleSign::as_actions},
    {"inferer", BundleSign::as_expression},
    {"initialize", BundleSign::as_actions},
    {"monai_version", BundleSign::always},
    {"network", BundleSign::as_expression},
    {"network_def", BundleSign::always},
    {"postprocessing", BundleSign::as_expression},
    {"preprocessing", BundleSign::as_expression},
    {"run", BundleSign::as_actions},
    {"train", BundleSign::as_expression},
    {"trainer", BundleSign::as_expression},
    {"validate", BundleSign::as_expression},
});

bool is_running(std::string_view text) {
  return text.starts_with('$') && runs_something(text.substr(1));
}

/// Whether a text, or one of a list's, is such.
bool holds_text(const Tree& tree, NodeId value, bool (*is_such)(std::string_view)) {
  if (tree.kind(value) != Kind::list) return is_such(text_in(tree, value));
  return std::ranges::any_of(tree.items(value), [&](NodeId item) { return is_such(text_in(tree, item)); });
}

/// A key may go on behind `::` or `#`, and says then where in a part its value belongs.
bool is_sign(const Tree& tree, NodeId key, NodeId value) {
  const std::string_view text = text_in(tree, key);
  const auto known = std::ranges::find(keys_of_bundles, text.substr(0, text.find_first_of(":#")), &BundleKey::text);
  if (known == keys_of_bundles.end()) return false;
  switch (known->sign) {
    case BundleSign::always:
      return true;
    case BundleSign::as_actions:
      return holds_text(tree, value, begins_as_bundle_item);
    default:
      return holds_text(tree, value, is_running);
  }
}

bool is_bundle(const Tree& tree) {
  if (tree.root == nowhere || tree.kind(tree.root) != Kind::map) return false;
  const auto pairs = tree.items(tree.root);
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (is_sign(tree, pairs[i], pairs[i + 1])) return true;
  }
  return false;
}

}  // namespace

std::span<const BundleKey> bundle_keys() {
  return keys_of_bundles;
}

bool begins_as_bundle_item(std::string_view text) {
  return text.starts_with('$') || text.starts_with('@') || text.starts_with('%');
}

bool runs_something(std::string_view expression) {
  return reach_of(expression) != Reach::values;
}

bool is_of_other_file(std::string_view text) {
  constexpr auto endings = std::to_array<std::string_view>({".json", ".yaml", ".yml"});
  return text.starts_with('%') &&
         std::ranges::any_of(endings, [&](std::string_view ending) { return text.find(ending) != text.npos; });
}

std::vector<GlobalName> names_in_monai_bundle(const Tree& tree) {
  std::vector<GlobalName> names;
  const bool may_run = is_bundle(tree);
  for (NodeId node = 0; may_run && node < tree.size(); ++node) {
    if (tree.kind(node) != Kind::string) continue;
    const std::string_view text = tree.text(node);
    const std::uint64_t offset = tree.span(node).offset;
    tree.take_steps(text.size());
    if (is_running(text)) names.push_back({"builtins", "eval", offset});
    if (is_of_other_file(text)) names.push_back({std::string(text), "(included)", offset});
    if (!names.empty() && names.back().offset == offset) tree.take_memory(memory_of(names.back()));
  }
  return names;
}

}  // namespace tare
