#include "lib/container/hdf5/hdf5.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "lib/base/attribute_checksum.hpp"
#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/element_patch.hpp"
#include "lib/container/hdf5/reach.hpp"
#include "lib/container/hdf5/tree.hpp"
#include "lib/container/keras_config.hpp"
#include "lib/container/packed_values.hpp"
#include "lib/container/preview.hpp"
#include "lib/hdf5/checksum.hpp"

namespace tare {
namespace {

class Hdf5 final : public Container, public WithConfiguration, public WithPackedValues {
 public:
  explicit Hdf5(std::shared_ptr<const Source> source) : source_(std::move(source)) {
    Hdf5File file(source_);
    contents_ = read_hdf5_tree(file, read_hdf5_superblock(file).root);
    StoredTensors::install(contents_.tensors, contents_.tree);
    findings_ = file.findings();
    read_configuration();
    read_own_checksum();
    metadata_ = file.read_so_far();
  }

  [[nodiscard]] std::string_view format() const override { return "hdf5"; }
  [[nodiscard]] const Tree& tree() const override { return contents_.tree; }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return findings_; }
  [[nodiscard]] const Tree* configuration() const override { return configuration_ ? &*configuration_ : nullptr; }
  [[nodiscard]] std::vector<InnerDocument> inner_documents() const override { return hdf5_inner_documents(source_); }
  [[nodiscard]] bool is_packed(NodeId node) const override { return contents_.packed.contains(node); }
  [[nodiscard]] FileChange change(std::span<const NodeChange> changes) const override {
    FileChange all;
    std::map<std::uint64_t, std::uint64_t> covered;  // blocks whose checksums change: offset, size
    for (const NodeChange& change : changes) {
      const StoredTensor& stored = contents_.tensors->at(change.node);
      require_unpacked(change);
      require_one_link(change);
      all.patches.push_back(element_patch(stored, change));
      const auto header = contents_.in_headers.find(change.node);
      require_own_bytes(change, stored.place, header != contents_.in_headers.end());
      if (header == contents_.in_headers.end() || !header->second) continue;
      covered[header->second->offset] = header->second->size;
    }
    for (const auto& [offset, size] : covered) mend_checksum(all, {offset, size});
    mend_own_checksum(all);
    return all;
  }

 private:
  /// Keras' legacy format has it as JSON in an attribute of the root.
  void read_configuration() {
    const NodeId text = contents_.tree.find(contents_.tree.root, "@training_config");
    if (text == nowhere || contents_.tree.kind(text) != Kind::string) return;
    KerasConfig config = read_keras_config(as_bytes(contents_.tree.text(text)), source_->name(), source_->budget());
    configuration_ = std::move(config.tree);
    findings_.insert(findings_.end(), config.findings.begin(), config.findings.end());
  }

  void require_unpacked(const NodeChange& change) const {
    if (!is_packed(change.node)) return;
    throw Error(Status::refused,
                fmt::format("{}: {}: its values are compressed, and cannot be changed where they are", source_->name(),
                            change.meaning),
                "Save the state as .json, and edit that.");
  }

  /// As two holders of one tensor in a pickle.
  void require_one_link(const NodeChange& change) const {
    if (!contents_.shared.contains(change.node)) return;
    throw Error(
        Status::refused,
        fmt::format("{}: {}: another link of the file leads to that very value", source_->name(), change.meaning),
        "changing it here would change it there: give each link a dataset of its own first");
  }

  /// HDF5 itself never lets two things share bytes; a file that was made can.
  void require_own_bytes(const NodeChange& change, Span place, bool is_in_header) const {
    const auto shares = [&](Span other) { return other.offset < place.end() && place.offset < other.end(); };
    const auto has = [&](const StoredTensor& other) {
      return contents_.tensors->at(change.node).source == other.source && shares(other.place);
    };
    const bool is_metadata = !is_in_header && std::any_of(metadata_.begin(), metadata_.end(), shares);
    if (!is_metadata && contents_.tensors->count_if(has) == 1) return;
    throw Error(
        Status::refused,
        fmt::format("{}: its bytes at offset {} are those of something else, too", change.meaning, place.offset),
        "no HDF5 library writes such a file; find out who did before you load it");
  }

  void mend_checksum(FileChange& change, Span block) const {
    constexpr std::uint64_t checksum_size = 4;
    const Bytes changed = PreviewSource(source_, change).read(block);
    Bytes after;
    append_le(after, hdf5_checksum(changed));
    change.patches.push_back(
        {block.end(), source_->read({block.end(), checksum_size}), std::move(after), "checksum of the object header"});
  }

  /// Of the whole file, in an attribute of its root: tare's own states have one. It says that tare wrote them, so that
  /// where it is wrong, it stays so.
  void read_own_checksum() {
    const NodeId text = contents_.tree.find(contents_.tree.root, "@checksum");
    if (text == nowhere || contents_.tree.kind(text) != Kind::string) return;
    if (!contents_.tree.text(text).starts_with("crc32:") || source_->size() > limits::max_state_bytes) return;
    const auto problem = attribute_checksum_problem(SummedSource(source_));
    has_own_checksum_ = !problem;
    if (problem) findings_.push_back({Severity::warning, "checksum-differs", *problem, {}, {}});
  }

  void mend_own_checksum(FileChange& change) const {
    if (!has_own_checksum_) return;
    const std::uint64_t size = source_->size();
    const auto head = source_->read({0, std::min<std::uint64_t>(size, attribute_checksum_head_bytes)});
    const std::uint64_t at = find_attribute_checksum(head).value();
    const SummedSource changed(std::make_shared<PreviewSource>(source_, change));
    const std::string after = attribute_checksum(changed, at);
    const ByteView bytes = as_bytes(after);
    const Bytes before = source_->read({at, attribute_checksum_digits});
    change.patches.push_back({at, before, Bytes(bytes.begin(), bytes.end()), "checksum of the file"});
  }

  std::shared_ptr<const Source> source_;
  Hdf5Tree contents_;
  std::vector<Span> metadata_;
  std::vector<Finding> findings_;
  std::optional<Tree> configuration_;
  bool has_own_checksum_ = false;  ///< and it is right
};

}  // namespace

std::unique_ptr<Container> open_hdf5(const std::shared_ptr<const Source>& source) {
  return std::make_unique<Hdf5>(source);
}

}  // namespace tare
