#include "lib/container/torch/dcp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lib/base/alike.hpp"
#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/kept_directory.hpp"
#include "lib/container/nested_keys.hpp"
#include "lib/container/pickle/read/tensor.hpp"
#include "lib/container/pickle/write/plain_file.hpp"
#include "lib/container/pickle/write/rewrite.hpp"
#include "lib/container/preview.hpp"
#include "lib/container/torch/dcp_blobs.hpp"
#include "lib/container/torch/dcp_keys.hpp"

namespace tare {
namespace {

using Blobs = std::vector<DcpBlob>;

/// The blob whose nodes `node` is among; end where it is none's.
Blobs::const_iterator blob_of(const Blobs& blobs, NodeId node) {
  const auto behind =
      std::upper_bound(blobs.begin(), blobs.end(), node, [](NodeId id, const DcpBlob& b) { return id < b.first; });
  if (behind == blobs.begin()) return blobs.end();
  const auto blob = std::prev(behind);
  return node - blob->first < blob->container->tree().size() ? blob : blobs.end();
}

/// Tensors of the whole are described by the blob that they stand in.
class BlobTensors final : public TensorReader {
 public:
  explicit BlobTensors(const Blobs& blobs) : blobs_(blobs) {}
  [[nodiscard]] Tensor describe(NodeId node) const override {
    const DcpBlob& blob = *blob_of(blobs_, node);
    return blob.container->tree().tensor(node - blob.first);
  }
  [[nodiscard]] Bytes elements(NodeId node) const override {
    const DcpBlob& blob = *blob_of(blobs_, node);
    return blob.container->tree().reader()->elements(node - blob.first);
  }
  [[nodiscard]] std::shared_ptr<const Tree> open(NodeId node) const override {
    const auto blob = blob_of(blobs_, node);
    return blob == blobs_.end() ? nullptr : blob->container->tree().open(node - blob->first);
  }

 private:
  const Blobs& blobs_;
};

/// What an edit changes in the metadata. They are read again for it, with all that they say of tensors.
class Directory {
 public:
  Directory(const Source& source, const DcpMetadata& known) : source_(source), known_(known) {}

  void move(const DcpItem& item, std::uint64_t offset, std::uint64_t size) {
    const DcpPlaceNodes& own = whole().nodes[find(item)];
    const std::string meaning = fmt::format("place of {}", item.key);
    changes_.push_back({own.offset, Integer{static_cast<std::int64_t>(offset), {}}, meaning});
    changes_.push_back({own.length, Integer{static_cast<std::int64_t>(size), {}}, meaning});
  }

  void resize(const DcpItem& tensor, std::int64_t count) {
    const DcpItem& own = whole().items[find(tensor)];
    for (const NodeId length : length_nodes(*whole_, own)) {
      changes_.push_back({length, Integer{count, {}}, fmt::format("size of {}", tensor.key)});
    }
  }

  void remove(const std::set<std::string_view>& keys) {
    if (keys.empty()) return;
    for (NodeChange& change : without_keys(whole(), keys)) changes_.push_back(std::move(change));
  }

  [[nodiscard]] bool is_unchanged() const { return changes_.empty(); }

  /// As one splice: that is written beside and renamed, so that a reader finds either the old places or the new ones.
  [[nodiscard]] FileChange change() const {
    const Pickle& pickle = whole_->pickle;
    const PickleRewrite rewrite = rewrite_pickle(pickle, 0, PickleTensors(pickle.tree, nullptr), changes_);
    FileChange change;
    change.splice = changed_run(0, ByteView(*whole_->text).first(pickle.end), rewrite.pickle, "where items are stored");
    return change;
  }

 private:
  const DcpMetadata& whole() {
    if (!whole_) whole_ = read_dcp_metadata(source_, DcpShapes::read);
    return *whole_;
  }

  std::size_t find(const DcpItem& item) {
    const auto index = static_cast<std::size_t>(&item - known_.items.data());
    if (whole().items.size() == known_.items.size()) return index;
    throw Error(Status::corrupt, fmt::format("{}: contradicts itself where {} is stored", source_.name(), item.key),
                "save the checkpoint again with torch first");
  }

  const Source& source_;
  const DcpMetadata& known_;
  std::unique_ptr<const DcpMetadata> whole_;
  std::vector<NodeChange> changes_;
};

/// How many elements a tensor of one dimension has when `change` is done; nothing where that stays.
std::optional<std::int64_t> new_length(const DcpBlob& blob, const FileChange& change) {
  const auto shape_of = [](const Container& container) { return container.tree().tensor(container.tree().root).shape; };
  const auto after = shape_of(*open_container(std::make_shared<PreviewSource>(blob.window, change)));
  return after == shape_of(*blob.container) ? std::nullopt : std::optional(after.front());
}

/// Whether a value is all that an item holds: Megatron-core keeps an object in a list of one.
bool is_all_of(const Tree& item, NodeId value) {
  const auto only = item.kind(item.root) == Kind::list ? item.items(item.root) : std::span<const NodeId>();
  return value == item.root || (only.size() == 1 && only[0] == value);
}

/// What a metadata file says, and which of its items are read.
struct ReadDirectory {
  std::shared_ptr<const Source> source;
  std::string name;
  std::unique_ptr<const DcpMetadata> metadata;
  std::vector<bool> chosen;
};

class TorchDcp final : public Container, public WithDirectory {
 public:
  TorchDcp(const SourceFolder& folder, std::shared_ptr<const ReadDirectory> read)
      : read_(std::move(read)),
        blobs_(read_dcp_blobs(folder, read_->name, *read_->metadata, read_->chosen)),
        tree_(folder.budget()) {
    NestedKeys keys(tree_);
    for (DcpBlob& blob : blobs_.blobs) {
      const Tree& tree = blob.container->tree();
      blob.first = tree_.graft(tree);
      keys.add(blob.item->key, blob.first + tree.root);
    }
    tree_.root = keys.write();
    tree_.install(std::make_shared<BlobTensors>(blobs_.blobs));
    collect_findings();
  }

  [[nodiscard]] std::string_view format() const override { return "torch_dcp"; }
  [[nodiscard]] const Tree& tree() const override { return tree_; }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return findings_; }
  [[nodiscard]] std::vector<GlobalName> globals() const override;
  [[nodiscard]] std::span<const std::string> parts() const override { return blobs_.parts; }
  [[nodiscard]] std::size_t part_of(NodeId node) const override {
    const auto blob = blob_of(blobs_.blobs, node);
    return blob == blobs_.blobs.end() ? 0 : blob->part;
  }
  [[nodiscard]] std::vector<PartChange> change_parts(std::span<const NodeChange> changes) const override;
  [[nodiscard]] std::shared_ptr<const KeptDirectory> directory() const override;

 private:
  void collect_findings() {
    AlikeFindings all;
    for (const auto& findings : {read_->metadata->pickle.findings, blobs_.findings}) {
      for (const Finding& finding : findings) all.add(finding, "");
    }
    for (const DcpBlob& blob : blobs_.blobs) {
      for (Finding finding : blob.container->findings()) {
        finding.file = blobs_.parts[blob.part];
        finding.path = std::string(blob.item->key);
        all.add(std::move(finding), "");
      }
    }
    findings_ = all.take("item");
  }
  /// Throws `refused` where another item is stored in the same bytes.
  void require_own_bytes(const DcpItem& item) const;

  std::shared_ptr<const ReadDirectory> read_;
  DcpBlobs blobs_;
  Tree tree_;
  std::vector<Finding> findings_;
};

class OpenedAgain final : public KeptDirectory {
 public:
  explicit OpenedAgain(std::shared_ptr<const ReadDirectory> read) : read_(std::move(read)) {}
  [[nodiscard]] std::unique_ptr<Container> open(const SourceFolder& folder) const override {
    return std::make_unique<TorchDcp>(folder, read_);
  }

 private:
  std::shared_ptr<const ReadDirectory> read_;
};

std::shared_ptr<const KeptDirectory> TorchDcp::directory() const {
  return std::make_shared<const OpenedAgain>(read_);
}

std::vector<GlobalName> TorchDcp::globals() const {
  std::vector<GlobalName> all = read_->metadata->pickle.globals;
  for (const DcpBlob& blob : blobs_.blobs) {
    for (GlobalName& global : blob.container->globals()) {
      const auto is_same = [&](const GlobalName& g) { return g.module == global.module && g.name == global.name; };
      if (std::none_of(all.begin(), all.end(), is_same)) all.push_back(std::move(global));
    }
  }
  return all;
}

void TorchDcp::require_own_bytes(const DcpItem& item) const {
  for (const DcpItem& other : read_->metadata->items) {
    const bool is_apart = &other == &item || other.file != item.file || other.place.end() <= item.place.offset ||
                          other.place.offset >= item.place.end();
    if (is_apart) continue;
    throw Error(Status::refused, fmt::format("{} and {} are stored in the same bytes", item.key, other.key),
                "changing one would change the other: save the checkpoint again with torch first");
  }
}

std::vector<PartChange> TorchDcp::change_parts(std::span<const NodeChange> changes) const {
  std::map<const DcpBlob*, std::vector<NodeChange>> work;
  std::set<std::string_view> removed;
  for (const NodeChange& change : changes) {
    const auto blob = blob_of(blobs_.blobs, change.node);
    if (blob == blobs_.blobs.end()) throw Error(Status::internal, "a change outside every item");
    NodeChange inner{change.node - blob->first, change.value, change.meaning, change.inside};
    if (std::holds_alternative<Removal>(inner.value) && is_all_of(blob->container->tree(), inner.node)) {
      removed.insert(blob->item->key);
    } else {
      work[&*blob].push_back(std::move(inner));
    }
  }

  std::map<std::size_t, FileChange> by_part;
  Directory directory(*read_->source, *read_->metadata);
  directory.remove(removed);
  for (const auto& [blob, inner] : work) {
    if (!blob->is_in_image) require_own_bytes(*blob->item);
    FileChange own = blob->container->change(inner);
    if (blob->item->is_tensor && !blob->is_in_image) {
      if (const auto length = new_length(*blob, own)) directory.resize(*blob->item, *length);
    }
    FileChange& part = by_part[blob->part];
    if (!own.append && !own.splice) {
      for (Patch& patch : own.patches) {
        patch.offset += blob->item->place.offset;
        part.patches.push_back(std::move(patch));
      }
      continue;
    }
    // An item cannot grow where it stands: all of it is written again behind the end of its file.
    const PreviewSource grown(blob->window, own);
    if (grown.size() > limits::max_tensor_read_bytes) {
      throw Error(Status::refused,
                  fmt::format("{}: {} bytes would have to be written again", blob->item->key, grown.size()));
    }
    if (!part.append) part.append = Append{blobs_.sources[blob->part]->size(), {}, {}, {}};
    const std::uint64_t offset = part.append->old_size + part.append->body.size();
    const Bytes content = grown.read(Span{0, grown.size()});
    part.append->body.insert(part.append->body.end(), content.begin(), content.end());
    part.append->meaning += (part.append->meaning.empty() ? "" : ", ") + joined_meaning(inner);
    directory.move(*blob->item, offset, grown.size());
  }

  std::vector<PartChange> parts;
  parts.reserve(by_part.size() + 1);
  for (auto& [part, change] : by_part) parts.push_back({part, std::move(change)});
  if (!directory.is_unchanged()) parts.push_back({0, directory.change()});
  return parts;
}

}  // namespace

std::unique_ptr<Container> open_torch_dcp(const std::shared_ptr<const SourceFolder>& folder, const std::string& name,
                                          const DcpChoice& choose) {
  auto read = std::make_shared<ReadDirectory>();
  read->source = folder->open(name);
  read->name = name;
  read->metadata = read_dcp_metadata(*read->source);
  read->chosen = choose(*read->metadata);
  return std::make_unique<TorchDcp>(*folder, std::move(read));
}

}  // namespace tare
