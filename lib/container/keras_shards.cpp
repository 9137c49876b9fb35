#include "lib/container/keras_shards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/hdf5.hpp"
#include "lib/container/json.hpp"

namespace tare {
namespace {

/// A shard, whose nodes stand from `first` on in the tree of all.
struct Shard {
  std::unique_ptr<const Container> container;
  NodeId first = 0;
};

/// Tensors as their shards describe them.
class ShardedTensors final : public TensorReader {
 public:
  explicit ShardedTensors(const std::vector<Shard>& shards) : shards_(shards) {}

  [[nodiscard]] std::size_t number(NodeId node) const {
    const auto behind = std::upper_bound(shards_.begin(), shards_.end(), node,
                                         [](NodeId id, const Shard& shard) { return id < shard.first; });
    return static_cast<std::size_t>(behind - shards_.begin()) - 1;
  }
  [[nodiscard]] Tensor describe(NodeId node) const override {
    const Shard& shard = shards_[number(node)];
    return shard.container->tree().tensor(node - shard.first);
  }
  [[nodiscard]] Bytes elements(NodeId node) const override {
    const Shard& shard = shards_[number(node)];
    return shard.container->tree().reader()->elements(node - shard.first);
  }

 private:
  const std::vector<Shard>& shards_;
};

/// What `from` holds goes into `into`; maps under one key are one.
void merge(Tree& tree, NodeId into, NodeId from) {
  std::vector<std::pair<NodeId, NodeId>> open = {{into, from}};
  std::set<std::pair<NodeId, NodeId>> seen;
  while (!open.empty()) {
    const auto [target, source] = open.back();
    open.pop_back();
    if (target == source || !seen.insert({target, source}).second) continue;
    const auto items = tree.items(source);
    const std::vector<NodeId> pairs(items.begin(), items.end());
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      const NodeId known = tree.find(target, tree.key_text(pairs[i]));
      if (known == nowhere) {
        tree.append_items(target, std::span(pairs).subspan(i, 2));
      } else if (tree.kind(known) == Kind::map && tree.kind(pairs[i + 1]) == Kind::map) {
        open.emplace_back(known, pairs[i + 1]);
      }
    }
  }
}

class KerasShards final : public Container {
 public:
  KerasShards(const SourceFolder& folder, const std::string& name) : parts_{name} {
    tree_.root = tree_.add_items(Kind::map, {}, {});
    for (const std::string& shard : keras_shards_of(folder, name)) {
      if (!folder.has(shard)) continue;
      auto container = open_hdf5(folder.open(shard));
      for (Finding finding : container->findings()) {
        finding.file = shard;
        findings_.push_back(std::move(finding));
      }
      const NodeId first = tree_.graft(container->tree());
      if (tree_.kind(first + container->tree().root) == Kind::map) {
        merge(tree_, tree_.root, first + container->tree().root);
      }
      parts_.push_back(shard);
      shards_.push_back({std::move(container), first});
    }
    tensors_ = std::make_shared<ShardedTensors>(shards_);
    tree_.install(tensors_);
  }

  [[nodiscard]] std::string_view format() const override { return "hdf5"; }
  [[nodiscard]] const Tree& tree() const override { return tree_; }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return findings_; }
  [[nodiscard]] FileChange change(std::span<const NodeChange>) const override {
    throw Error(Status::internal, "sharded weights are several files");
  }
  [[nodiscard]] std::span<const std::string> parts() const override { return parts_; }
  /// The first part is the map of the others.
  [[nodiscard]] std::size_t part_of(NodeId node) const override { return 1 + tensors_->number(node); }
  [[nodiscard]] std::vector<PartChange> change_parts(std::span<const NodeChange> changes) const override {
    std::map<std::size_t, std::vector<NodeChange>> by_shard;
    for (NodeChange change : changes) {
      const std::size_t shard = tensors_->number(change.node);
      change.node -= shards_[shard].first;
      by_shard[shard].push_back(std::move(change));
    }
    std::vector<PartChange> all;
    all.reserve(by_shard.size());
    for (const auto& [shard, inside] : by_shard) all.push_back({1 + shard, shards_[shard].container->change(inside)});
    return all;
  }

 private:
  std::vector<std::string> parts_;
  std::vector<Shard> shards_;
  Tree tree_;
  std::shared_ptr<ShardedTensors> tensors_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<std::string> keras_shards_of(const SourceFolder& folder, const std::string& name) {
  const auto source = folder.open(name);
  const std::uint64_t size = std::min<std::uint64_t>(source->size(), limits::max_small_text_bytes);
  const PlainTree contents = read_json(source->read({0, size}), source->name());
  const Tree& tree = contents.tree();
  const NodeId map = tree.find(tree.root, "weight_map");
  std::vector<std::string> shards;
  for (const NodeId value : tree.items(map)) {
    for (const NodeId shard : tree.items(value)) {
      if (tree.kind(shard) != Kind::string) continue;
      std::string file(tree.text(shard));
      if (std::find(shards.begin(), shards.end(), file) == shards.end()) shards.push_back(std::move(file));
    }
  }
  if (!shards.empty()) return shards;
  throw Error(Status::corrupt, fmt::format("{}: has no weight_map that names files", source->name()),
              "it is another program's, or Keras never finished it");
}

std::unique_ptr<Container> open_keras_shards(const std::shared_ptr<const SourceFolder>& folder,
                                             const std::string& name) {
  return std::make_unique<KerasShards>(*folder, name);
}

}  // namespace tare
