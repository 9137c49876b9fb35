#include "lib/container/keras/shards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/hdf5/hdf5.hpp"
#include "lib/json/reader.hpp"

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

/// Makes maps under one key one. Remembers which keys those have that others were merged into.
class Merger {
 public:
  explicit Merger(Tree& tree) : tree_(tree) {}

  /// What `from` holds goes into `into`.
  void merge(NodeId into, NodeId from) {
    open_ = {{into, from}};
    while (!open_.empty()) {
      const auto [target, source] = open_.back();
      open_.pop_back();
      if (target != source && seen_.insert({target, source}).second) merge_pairs(target, source);
    }
  }

 private:
  using Values = std::unordered_map<std::string, NodeId, KeyedHash>;  ///< by key

  void merge_pairs(NodeId target, NodeId source) {
    const auto items = tree_.items(source);
    tree_.take_steps(items.size());
    Values& known = values_of(target);
    std::vector<NodeId> added;
    for (std::size_t i = 0; i < items.size(); i += 2) {
      const auto [same, is_new] = insert(known, items[i], items[i + 1]);
      if (is_new) {
        added.insert(added.end(), {items[i], items[i + 1]});
      } else if (tree_.kind(same->second) == Kind::map && tree_.kind(items[i + 1]) == Kind::map) {
        open_.emplace_back(same->second, items[i + 1]);
      }
    }
    tree_.append_items(target, added);
  }

  Values& values_of(NodeId map) {
    const auto [values, is_new] = values_.try_emplace(map);
    if (!is_new) return values->second;
    const auto items = tree_.items(map);
    for (std::size_t i = 0; i < items.size(); i += 2) insert(values->second, items[i], items[i + 1]);
    return values->second;
  }

  std::pair<Values::iterator, bool> insert(Values& values, NodeId key, NodeId value) {
    constexpr std::size_t bytes_a_key = 96;
    std::string text = tree_.key_text(key);
    tree_.take_memory(bytes_a_key + text.size());
    return values.try_emplace(std::move(text), value);
  }

  Tree& tree_;
  std::vector<std::pair<NodeId, NodeId>> open_;
  std::set<std::pair<NodeId, NodeId>> seen_;
  std::unordered_map<NodeId, Values> values_;
};

class KerasShards final : public Container {
 public:
  KerasShards(const SourceFolder& folder, const std::string& name) : parts_{name}, tree_(folder.budget()) {
    tree_.root = tree_.add_items(Kind::map, {}, {});
    Merger merger(tree_);
    for (const std::string& shard : keras_shards_of(folder, name)) {
      if (!folder.has(shard)) continue;
      auto container = open_hdf5(folder.open(shard));
      for (Finding finding : container->findings()) {
        finding.file = shard;
        findings_.push_back(std::move(finding));
      }
      const NodeId first = tree_.graft(container->tree());
      if (tree_.kind(first + container->tree().root) == Kind::map) {
        merger.merge(tree_.root, first + container->tree().root);
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
  [[nodiscard]] std::vector<InnerDocument> inner_documents() const override {
    std::vector<InnerDocument> all;
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      for (InnerDocument& inner : shards_[i].container->inner_documents()) {
        inner.inside = parts_[1 + i] + (inner.inside.empty() ? "" : " > ") + inner.inside;
        all.push_back(std::move(inner));
      }
    }
    return all;
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
  const PlainTree contents = read_json(source->read({0, size}), source->name(), source->budget());
  const Tree& tree = contents.tree();
  const NodeId map = tree.find(tree.root, "weight_map");
  std::vector<std::string> shards;
  std::unordered_set<std::string_view, KeyedHash> known;
  for (const NodeId value : tree.items(map)) {
    for (const NodeId shard : tree.items(value)) {
      if (tree.kind(shard) != Kind::string) continue;
      if (known.insert(tree.text(shard)).second) shards.emplace_back(tree.text(shard));
    }
  }
  if (shards.size() > limits::max_files) {
    throw Error(Status::refused, fmt::format("{}: names {} files", source->name(), shards.size()));
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
