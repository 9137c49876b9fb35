#include "lib/dialect/trainer.hpp"

#include <array>

#include "lib/base/glob.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto table = std::to_array<const Trainer*>({
#define TARE_TRAINER(name) &name,
#include "lib/dialect/frameworks/trainers.inc"
#undef TARE_TRAINER
});

}  // namespace

std::span<const Trainer* const> trainers() {
  return table;
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
    node = tree.find(tree.fields(node), keys.substr(0, dot));
    keys = dot == keys.npos ? std::string_view() : keys.substr(dot + 1);
  }
  return node;
}

}  // namespace tare
