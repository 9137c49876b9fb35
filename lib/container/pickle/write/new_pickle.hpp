// A pickle from nothing: of plain values, torch tensors and numpy arrays.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
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

/// The opcodes of one value among others of such a pickle: nothing is stored in the memo, nor fetched from it.
/// `new_key` takes a tensor whose elements go into a storage of their own, and says under which key they will stand.
using NewKey = std::function<std::string(const DocumentTensor&)>;
Bytes torch_value(const Document& document, const NewKey& new_key);

/// What pickle.dumps makes of torch's tensors: protocol 4, each storage a stream in the text (storage_stream.hpp).
Bytes new_streamed_pickle(const Document& document);

/// How numpy's arrays go into a plain pickle: protocol 4, data in the text. A tensor without dimensions is an array
/// too.
Bytes new_numpy_pickle(const Document& document);

/// The opcodes alone that leave a value on the stack of a pickle with numpy's arrays; nothing is memoised or fetched.
Bytes numpy_value(const Document& document);

/// Of what torch_value or numpy_value gave for a map: its entries are set in the map that lies on top of the stack
/// instead. REQUIRES: one at least.
Bytes as_entries(Bytes map);

}  // namespace tare
