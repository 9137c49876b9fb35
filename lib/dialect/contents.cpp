// What a file without a scaler holds, told from its top and from its tensors.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/error.hpp"
#include "lib/dialect/found.hpp"
#include "lib/dialect/walk.hpp"
#include "lib/tree/path.hpp"

namespace tare {
namespace {

constexpr std::size_t most_keys_told = 8;
constexpr std::size_t longest_key = 40;
/// Keys and values of a dict that may have a scaler's key: not of a model's parameters.
constexpr std::size_t most_searched = 128;

/// Keys under which trainers keep a scaler: one of these with nothing under it is worth a word.
constexpr auto scaler_keys = std::to_array<std::string_view>({
    "scaler",
    "grad_scaler",
    "amp_scaler",
    "loss_scaler",
    "scaler_state_dict",
    "native_amp_scaling_state",
    "MixedPrecision",
    "MixedPrecisionPlugin",
});

bool is_empty(const Tree& tree, NodeId id) {
  return id != nowhere && (tree.kind(id) == Kind::none || (tree.kind(id) == Kind::map && tree.items(id).empty()));
}

/// The first place that is a scaler's by its name and holds nothing.
std::string empty_scaler(const Tree& tree) {
  TreeWalk walk(tree);
  while (walk.next()) {
    const NodeId node = walk.step(walk.current()).node;
    if (tree.kind(node) != Kind::map || tree.items(node).size() > most_searched) continue;
    for (const std::string_view key : scaler_keys) {
      if (!is_empty(tree, tree.find(node, key))) continue;
      return fmt::format("{} is empty", key_path(walk.path(walk.current()), key));
    }
  }
  return {};
}

/// Empty where the tensor's description makes no sense.
std::string type_of(const Tree& tree, NodeId tensor) {
  try {
    return std::string(tree.tensor(tensor).type.name);
  } catch (const Error&) {
    return {};
  }
}

std::string tensors(const Tree& tree) {
  std::size_t count = 0;
  std::vector<std::string> types;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::tensor) continue;
    ++count;
    std::string type = type_of(tree, id);
    if (!type.empty() && std::ranges::find(types, type) == types.end()) types.push_back(std::move(type));
  }
  if (count == 0) return {};
  std::string text = fmt::format("{} tensor{}", count, count == 1 ? "" : "s");
  if (!types.empty()) text += fmt::format(" ({})", fmt::join(types, ", "));
  return text;
}

std::string top_keys(const Tree& tree, NodeId map) {
  const auto pairs = tree.items(map);
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < pairs.size() && keys.size() < most_keys_told; i += 2) {
    if (tree.kind(pairs[i]) == Kind::string) keys.push_back(tree.key_text(pairs[i]).substr(0, longest_key));
  }
  if (keys.empty()) return {};
  const bool has_more = pairs.size() / 2 > keys.size();
  return fmt::format("under {}{}", fmt::join(keys, ", "), has_more ? " ..." : "");
}

}  // namespace

std::string describe_contents(const Tree& tree) {
  const NodeId map = tree.fields(tree.root);
  if (is_empty(tree, tree.root)) return "nothing: what a scaler saves that is switched off";
  std::vector<std::string> parts = {tensors(tree)};
  if (map != nowhere) {
    parts.push_back(top_keys(tree, map));
  }
  parts.push_back(empty_scaler(tree));
  std::erase(parts, "");
  return parts.empty() ? "no tensors and no named values" : fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace tare
