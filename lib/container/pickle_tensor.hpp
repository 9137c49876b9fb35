// Tensors and numpy arrays as pickles describe them.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/base/source.hpp"
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
  /// A key for one more storage. Throws `refused` where the format has no room for it.
  [[nodiscard]] virtual std::string unused_key() const = 0;
};

/// The storage that a persistent id, or a tensor that was left unread, names: key, element type, count, device (the
/// shape means nothing); nothing where `node` is neither. Throws `corrupt` where its description makes no sense.
std::optional<Tensor> storage_of(const Tree& tree, NodeId node);

/// Reads descriptions out of a pickle's tree; `storages` is null for a pickle that stands alone. Both must outlive it.
class PickleTensors final : public TensorReader {
 public:
  PickleTensors(const Tree& tree, const StorageTable* storages) : tree_(tree), storages_(storages) {}
  [[nodiscard]] Tensor describe(NodeId node) const override;
  [[nodiscard]] Bytes elements(NodeId node) const override;

  /// Where the only element of a tensor stands in the file.
  [[nodiscard]] Span only_element(NodeId node) const;
  /// Does another tensor show the bytes of that element too?
  [[nodiscard]] bool is_shown_elsewhere(NodeId node) const;
  /// REQUIRES: storages.
  [[nodiscard]] std::string unused_key() const { return storages_->unused_key(); }
  /// The node of the bytes that hold an array's elements.
  [[nodiscard]] NodeId array_bytes(NodeId array) const;
  /// The byte order of tensors' storages. REQUIRES: storages.
  [[nodiscard]] std::endian order() const { return storages_->order(); }
  /// The byte order of an array's elements.
  [[nodiscard]] std::endian array_order(NodeId array) const;

 private:
  const Tree& tree_;
  const StorageTable* storages_;
};

}  // namespace tare
