#include "lib/container/tensorflow/tensor_bundle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "lib/base/crc32c.hpp"
#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/element_patch.hpp"
#include "lib/container/file_change.hpp"
#include "lib/container/held_tensors.hpp"
#include "lib/container/nested_keys.hpp"

namespace tare {
namespace {

Bytes stored(std::uint32_t number) {
  Bytes bytes;
  append_le(bytes, number);
  return bytes;
}

class TensorBundle final : public Container {
 public:
  TensorBundle(const SourceFolder& folder, const std::string& name, const BundleChoice& choose)
      : index_(read_bundle_index(*folder.open(name))), parts_{name}, sources_{nullptr}, tree_(folder.budget()) {
    const std::vector<bool> chosen = choose(index_);
    NestedKeys keys(tree_);
    auto tensors = std::make_shared<HeldTensors>();
    for (std::size_t i = 0; i < index_.items.size(); ++i) {
      if (!chosen[i] || index_.items[i].is_sliced || index_.items[i].type.size == 0) continue;
      const auto part = opened_part(folder, index_.items[i].shard);
      if (part) read(index_.items[i], *part, keys, *tensors);
    }
    tree_.root = keys.write();
    tree_.install(std::move(tensors));
  }

  [[nodiscard]] std::string_view format() const override { return "tensor_bundle"; }
  [[nodiscard]] const Tree& tree() const override { return tree_; }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return findings_; }
  [[nodiscard]] std::span<const std::string> parts() const override { return parts_; }
  [[nodiscard]] std::size_t part_of(NodeId node) const override {
    const auto held = held_.find(node);
    return held == held_.end() ? 0 : held->second.part;
  }
  [[nodiscard]] std::vector<PartChange> change_parts(std::span<const NodeChange> changes) const override;

 private:
  struct Held {
    const BundleItem* item;
    std::size_t part;
    bool is_sound;  ///< its checksum holds
  };

  void tell(Severity severity, const char* code, std::string message, const std::string& file, const std::string& key) {
    findings_.push_back({severity, code, std::move(message), file, key});
  }

  void read(const BundleItem& item, std::size_t part, NestedKeys& keys, HeldTensors& tensors);
  /// The part that a data file is; nothing, and told once, where it cannot be opened.
  std::optional<std::size_t> opened_part(const SourceFolder& folder, std::uint64_t shard);

  BundleIndex index_;
  std::vector<std::string> parts_;
  std::map<std::uint64_t, std::optional<std::size_t>> part_of_shard_;
  std::vector<std::shared_ptr<const Source>> sources_;  ///< by part; null for the index
  std::map<NodeId, Held> held_;
  Tree tree_;
  std::vector<Finding> findings_;
};

std::optional<std::size_t> TensorBundle::opened_part(const SourceFolder& folder, std::uint64_t shard) {
  const auto [known, is_new] = part_of_shard_.try_emplace(shard);
  if (!is_new) return known->second;
  const std::string name = bundle_data_name(parts_.front(), shard, index_.shards);
  try {
    sources_.push_back(folder.open(name));
    known->second = parts_.size();
    parts_.push_back(name);
  } catch (const Error& error) {
    tell(Severity::error, "file-not-read", error.what(), name, {});
  }
  return known->second;
}

void TensorBundle::read(const BundleItem& item, std::size_t part, NestedKeys& keys, HeldTensors& tensors) {
  Tensor tensor;
  tensor.library = "tensor";
  tensor.type = item.type;
  tensor.shape = item.shape;
  const Source& file = *sources_[part];
  const bool has_its_size = item.place.size <= limits::max_tensor_read_bytes &&
                            tensor.count() <= limits::max_tensor_read_bytes &&
                            tensor.count() * item.type.size == item.place.size;
  if (!has_its_size || item.place.end() > file.size()) {
    return tell(Severity::error, "item-not-read",
                fmt::format("{} bytes at offset {} of a file of {} are not what {} takes", item.place.size,
                            item.place.offset, file.size(), tensor.type_text()),
                parts_[part], item.key);
  }
  file.budget()->take_memory(item.place.size);  // many may stand in the same bytes
  Bytes elements = file.read(item.place);
  const bool is_sound = masked_crc32c(elements) == item.crc;
  if (!is_sound) {
    tell(Severity::warning, "crc-mismatch",
         fmt::format("{}: its CRC-32C is not that of the index: TensorFlow refuses to load it", item.key), parts_[part],
         item.key);
  }
  Node node;
  node.kind = Kind::tensor;
  const NodeId id = tree_.add(node);
  held_[id] = {&item, part, is_sound};
  tensors.add(id, std::move(tensor), std::move(elements));
  keys.add(item.key, id);
}

/// Nothing changes its size: the element, its checksum in the index, and the checksum of that row's block.
std::vector<PartChange> TensorBundle::change_parts(std::span<const NodeChange> changes) const {
  std::map<std::size_t, FileChange> by_part;
  std::map<std::size_t, Bytes> blocks;  // of the index, as they will be
  const Source& index = *index_.table.file;
  const auto patch = [&](std::size_t part, Span place, const Bytes& before, const Bytes& after, std::string_view what) {
    auto& patches = by_part[part].patches;
    for (Patch& run : differing_runs(before, after, place.offset, what)) patches.push_back(std::move(run));
  };
  for (const NodeChange& change : changes) {
    const auto known = held_.find(change.node);
    if (known == held_.end()) throw Error(Status::refused, change.meaning + ": is no variable of the checkpoint");
    const Held& held = known->second;
    const BundleItem& item = *held.item;
    if (!held.is_sound || item.crc_place.size != crc32c_size) {
      throw Error(Status::corrupt, fmt::format("{}: its checksum in the index does not hold", item.key),
                  "an edit would hide the damage: take another copy");
    }
    const Bytes before = tree_.reader()->elements(change.node);
    const Bytes after = changed_elements(tree_.tensor(change.node), before, std::endian::little, change);
    patch(held.part, item.place, before, after, change.meaning);
    const Bytes crc = stored(masked_crc32c(after));
    patch(0, item.crc_place, stored(item.crc), crc, fmt::format("CRC-32C of {}", item.key));
    const Span block = index_.table.blocks[item.block];
    auto& bytes = blocks.try_emplace(item.block, index.read(block)).first->second;
    std::copy(crc.begin(), crc.end(),
              bytes.begin() + static_cast<std::ptrdiff_t>(item.crc_place.offset - block.offset));
  }
  for (const auto& [number, bytes] : blocks) {
    const Span trailer{index_.table.blocks[number].end(), crc32c_size};
    patch(0, trailer, index.read(trailer), stored(masked_crc32c(bytes)), "CRC-32C of the index's block");
  }
  std::vector<PartChange> parts;
  parts.reserve(by_part.size());
  for (auto& [part, change] : by_part) parts.push_back({part, std::move(change)});
  return parts;
}

}  // namespace

std::unique_ptr<Container> open_tensor_bundle(const std::shared_ptr<const SourceFolder>& folder,
                                              const std::string& name, const BundleChoice& choose) {
  return std::make_unique<TensorBundle>(*folder, name, choose);
}

}  // namespace tare
