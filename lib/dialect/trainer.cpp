#include "lib/dialect/trainer.hpp"

#include <array>
#include <charconv>
#include <string>

#include "lib/base/glob.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto every_trainer = std::to_array<const Trainer*>({
#define TARE_TRAINER(name) &name,
#include "lib/dialect/frameworks/trainers.inc"
#undef TARE_TRAINER
});

NodeId at_number(const Tree& tree, NodeId node, std::size_t number) {
  const auto items = tree.items(node);
  if (tree.kind(node) == Kind::list || tree.kind(node) == Kind::tuple) {
    return number < items.size() ? items[number] : nowhere;
  }
  if (tree.kind(node) != Kind::map) return nowhere;
  for (std::size_t i = 0; i < items.size(); i += 2) {
    if (tree.kind(items[i]) == Kind::integer && tree.key_text(items[i]) == std::to_string(number)) return items[i + 1];
  }
  return nowhere;
}

NodeId below(const Tree& tree, NodeId node, std::string_view key) {
  std::size_t number = 0;
  const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), number);
  const bool is_number = problem == std::errc() && end == key.data() + key.size();
  const NodeId found = tree.find(tree.fields(node), key);
  return found == nowhere && is_number ? at_number(tree, node, number) : found;
}

}  // namespace

std::span<const Trainer* const> trainers() {
  return every_trainer;
}

bool is_named(std::string_view pattern, std::string_view name) {
  const std::size_t mark = pattern.find('#');
  if (mark == pattern.npos) return glob_matches(pattern, name);
  const std::string_view before = pattern.substr(0, mark), behind = pattern.substr(mark + 1);
  if (name.size() <= before.size() + behind.size() || !name.starts_with(before) || !name.ends_with(behind))
    return false;
  const std::string_view number = name.substr(before.size(), name.size() - before.size() - behind.size());
  return number.find_first_not_of("0123456789") == number.npos;
}

NodeId at_keys(const Tree& tree, std::string_view keys) {
  NodeId node = tree.root;
  while (!keys.empty() && node != nowhere) {
    const std::size_t dot = keys.find('.');
    node = below(tree, node, keys.substr(0, dot));
    keys = dot == keys.npos ? std::string_view() : keys.substr(dot + 1);
  }
  return node;
}

}  // namespace tare
