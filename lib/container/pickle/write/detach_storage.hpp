// A tensor described anew with a storage of its own: one that shared its storage with others, which keep theirs, or one
// whose new contents have no room in the old.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "lib/container/pickle/read/pickle.hpp"
#include "lib/container/pickle/write/memo_room.hpp"

namespace tare {

/// For any number of tensors of one pickle, which is gone through once for all of them.
class StorageDetacher {
 public:
  /// Borrows both; `layout` is the pickle's, which starts at `begin`.
  StorageDetacher(const Pickle& pickle, std::uint64_t begin, const PickleLayout& layout)
      : pickle_(pickle), begin_(begin), layout_(layout) {}

  /// What changes in the pickle so that the tensor starts storage `key`, of `size` bytes. Throws `refused` where the
  /// description is written so that other places of the pickle refer back into it.
  std::vector<Replacement> detach(NodeId tensor, std::string_view key, std::uint64_t size);

 private:
  /// Where a tensor's storage is named and its offset is written, and the node of the storage's class.
  struct Description {
    Span storage_id;
    Span offset_op;
    NodeId type;
  };
  [[nodiscard]] Description description_of(NodeId tensor);
  [[nodiscard]] std::uint64_t mark_of(std::uint64_t tuple);
  void require_unfetched(const PickleOp& put) const;

  const Pickle& pickle_;
  std::uint64_t begin_;
  const PickleLayout& layout_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> marks_;  ///< of each TUPLE, once one is asked for
};

}  // namespace tare
