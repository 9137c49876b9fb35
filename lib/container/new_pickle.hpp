// A pickle from nothing: of plain values, torch tensors and numpy arrays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/tree/document.hpp"

namespace tare {

/// How torch writes: protocol 2, tensors' data in storages of their own, in order.
struct TorchPickle {
  Bytes text;
  std::vector<Bytes> storages;  ///< "0", "1" ...
};
TorchPickle new_torch_pickle(const Document& document);

/// How numpy's arrays go into a plain pickle: protocol 4, data in the text. A tensor without dimensions is an array
/// too.
Bytes new_numpy_pickle(const Document& document);

}  // namespace tare
