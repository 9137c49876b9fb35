// Writing into a pickle: new opcodes for changed values, the same size where the memo leaves room for it.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lib/container/container.hpp"
#include "lib/container/pickle/read/pickle.hpp"
#include "lib/container/pickle/read/tensor.hpp"

namespace tare {

/// What `changes` ask of the file around a pickle, besides the pickle itself: bytes of tensor elements.
struct ElementPatch {
  Span place;  ///< in the file
  SharedBytes after;
  std::string meaning;
};

/// A storage that the new pickle names and the file does not have yet.
struct NewStorage {
  std::string key;
  Bytes data;
  std::string meaning;
};

struct PickleRewrite {
  Bytes pickle;                        ///< the whole new pickle, from its first byte to one behind STOP
  std::vector<ElementPatch> elements;  ///< outside it
  std::vector<NewStorage> storages;    ///< for tensors that shared theirs with others, or outgrew them
  bool names_other_storages = false;   ///< than before: some are new, or no longer named
};

/// Turns node changes into a new pickle: of the same size where the values allow, or where opcodes that fill memo slots
/// which nothing fetches can make room; longer or shorter otherwise, with the lengths of frames mended. Only opcodes
/// that torch's weights_only reader accepts are added. A tensor whose storage others show too gets one of its own.
/// `begin` is where the pickle starts in tree's text. Throws `refused` for a value that another place shares, or that
/// the field's type cannot hold.
PickleRewrite rewrite_pickle(const Pickle& pickle, std::uint64_t begin, const PickleTensors& tensors,
                             std::span<const NodeChange> changes);

}  // namespace tare
