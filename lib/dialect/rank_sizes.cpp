// Sources: deepspeed/runtime/engine.py, _save_checkpoint and _save_zero_checkpoint;
// deepspeed/runtime/zero/stage_1_and_2.py and stage3.py, state_dict; Megatron-LM, megatron/training/checkpointing.py,
// which saves the arguments.
#include "lib/dialect/rank_sizes.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace tare {
namespace {

using Size = std::optional<std::uint64_t> RankSizes::*;

struct Place {
  Size size;
  std::array<std::string_view, 3> keys;  ///< from the file's root; empty ones at the end
};

constexpr auto places = std::to_array<Place>({
    {&RankSizes::data, {"dp_world_size"}},
    {&RankSizes::model, {"mp_world_size"}},
    {&RankSizes::zero_stage, {"ds_config", "zero_optimization", "stage"}},
    {&RankSizes::partitions, {"optimizer_state_dict", "partition_count"}},
    {&RankSizes::model, {"args", "tensor_model_parallel_size"}},
    {&RankSizes::pipeline, {"args", "pipeline_model_parallel_size"}},
    {&RankSizes::expert, {"args", "expert_model_parallel_size"}},
});

constexpr auto sizes = std::to_array<Size>({&RankSizes::partitions, &RankSizes::data, &RankSizes::model,
                                            &RankSizes::pipeline, &RankSizes::expert, &RankSizes::zero_stage});

/// Of DeepSpeed's lists (a number a parameter group) the largest counts: experts have fewer partitions.
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
  for (const Size size : sizes) {
    if (other.*size) this->*size = std::max((this->*size).value_or(0), *(other.*size));
  }
}

RankSizes rank_sizes(const Tree& tree) {
  RankSizes found;
  for (const Place& place : places) {
    NodeId node = tree.root;
    for (const std::string_view key : place.keys) {
      if (!key.empty() && node != nowhere) node = tree.find(tree.fields(node), key);
    }
    if (node != tree.root) found.*place.size = found.*place.size ? found.*place.size : number_at(tree, node);
  }
  return found;
}

}  // namespace tare
