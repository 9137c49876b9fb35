#include "lib/dialect/rank_sizes.hpp"

#include <algorithm>
#include <array>

#include "lib/dialect/trainer.hpp"

namespace tare {
namespace {

constexpr auto every_size =
    std::to_array<RankSizes::Size>({&RankSizes::partitions, &RankSizes::data, &RankSizes::model, &RankSizes::pipeline,
                                    &RankSizes::expert, &RankSizes::zero_stage});

/// Of lists (DeepSpeed's have a number a parameter group) the largest counts: experts have fewer partitions.
std::optional<std::uint64_t> number_at(const Tree& tree, NodeId node) {
  if (node == nowhere) return std::nullopt;
  if (tree.kind(node) == Kind::integer) {
    const std::int64_t number = tree[node].as.integer;
    return number < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(number));
  }
  std::optional<std::uint64_t> largest;
  if (tree.kind(node) != Kind::list) return largest;
  for (const NodeId item : tree.items(node)) {
    if (const auto number = tree.kind(item) == Kind::integer ? number_at(tree, item) : std::nullopt) {
      largest = std::max(largest.value_or(0), *number);
    }
  }
  return largest;
}

}  // namespace

void RankSizes::merge(const RankSizes& other) {
  for (const Size size : every_size) {
    if (other.*size) this->*size = std::max((this->*size).value_or(0), *(other.*size));
  }
}

RankSizes rank_sizes(const Tree& tree) {
  RankSizes found;
  for (const Trainer* trainer : trainers()) {
    for (const auto& [size, keys] : trainer->sizes) {
      if (!(found.*size)) found.*size = number_at(tree, at_keys(tree, keys));
    }
  }
  return found;
}

RankSizes sizes_of(const SizesByFolder& sizes, const std::string& folder) {
  const auto found = sizes.find(folder);
  return found == sizes.end() ? RankSizes() : found->second;
}

}  // namespace tare
