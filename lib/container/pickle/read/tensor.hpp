// Tensors and numpy arrays as pickles describe them.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/base/distant_source.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/base/source.hpp"
#include "lib/tree/reads_ahead.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// Where a file keeps the data of torch storages, which its pickle names by key.
class StorageTable {
 public:
  virtual ~StorageTable() = default;
  /// The storage's bytes in the file, stored raw. Throws `corrupt` where there is no such storage or its size is not
  /// `size` bytes at least, `refused` where it is compressed.
  [[nodiscard]] virtual Span find(std::string_view key, std::uint64_t size) const = 0;
  [[nodiscard]] virtual std::endian order() const = 0;
  [[nodiscard]] virtual const Source& source() const = 0;
  /// These storages are read soon, those of them that are there.
  virtual void read_ahead(std::span<const std::string> /*keys*/) const {}
  /// A key for one more storage, other than `last` and all that were given before that (empty: none was). Throws
  /// `refused` where the format has no room for it.
  [[nodiscard]] virtual std::string unused_key(std::string_view last) const = 0;
};

/// The elements of torch's storage class of that name ("FloatStorage"); of size 0 for others.
ElementType storage_element(std::string_view class_name);

/// The storage that a persistent id, or a tensor that was left unread, names: key, element type, count, device (the
/// shape means nothing); nothing where `node` is neither. Throws `corrupt` where its description makes no sense.
std::optional<Tensor> storage_of(const Tree& tree, NodeId node);

/// Where a tensor's elements are written.
struct TensorPlace {
  Tensor tensor;
  Span storage;  ///< in the file, or in the pickle's text
  std::endian order = std::endian::little;
  bool is_in_pickle = false;

  /// REQUIRES: index < tensor.count(), in row-major order.
  [[nodiscard]] Span element(std::uint64_t index) const;
};

/// Which tensors of a pickle show the same bytes.
class SharedStorages {
 public:
  explicit SharedStorages(const Tree& tree);
  /// Does another tensor show bytes that `node` shows?
  [[nodiscard]] bool is_shown_elsewhere(const Tree& tree, NodeId node) const;

 private:
  struct View {
    NodeId node;
    Span shown;
  };
  std::unordered_map<std::string, std::vector<View>, KeyedHash> views_;
};

/// Reads descriptions out of a pickle's tree; `storages` is null for a pickle that stands alone. Both must outlive it.
class PickleTensors final : public TensorReader, public ReadsAhead {
 public:
  PickleTensors(const Tree& tree, const StorageTable* storages) : tree_(tree), storages_(storages) {}
  [[nodiscard]] Tensor describe(NodeId node) const override;
  [[nodiscard]] Bytes elements(NodeId node) const override;

  [[nodiscard]] std::shared_ptr<const Tree> open(NodeId node) const override;
  [[nodiscard]] bool is_far() const override { return storages_ != nullptr && is_distant(storages_->source()); }
  void read_ahead(std::span<const NodeId> nodes) const override;

  /// REQUIRES: kind tensor, of a known element type. Throws as `elements` does, and `refused` where its bytes stand in
  /// the pickle as text.
  [[nodiscard]] TensorPlace place_of(NodeId node) const;
  /// The bytes of the stream that a tensor's storage is; nowhere where it stands elsewhere.
  [[nodiscard]] NodeId stream_of(NodeId tensor) const;
  /// Are tensors' elements kept beside the pickle, as torch does?
  [[nodiscard]] bool has_storages() const { return storages_ != nullptr; }
  /// REQUIRES: storages.
  [[nodiscard]] std::string unused_key(std::string_view last) const { return storages_->unused_key(last); }
  /// The byte order of all storages. REQUIRES: storages.
  [[nodiscard]] std::endian storage_order() const { return storages_->order(); }
  /// The node of the bytes that hold an array's elements.
  [[nodiscard]] NodeId array_bytes(NodeId array) const;
  /// The byte order of an array's elements.
  [[nodiscard]] std::endian array_order(NodeId array) const;

 private:
  const Tree& tree_;
  const StorageTable* storages_;
};

}  // namespace tare
