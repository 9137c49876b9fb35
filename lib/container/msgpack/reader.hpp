// A msgpack file as flax writes it, hopped over from length to length: arrays are described and never read.
//
// flax's extension types (flax/serialization.py): 1 an array, 2 a complex number, 3 a numpy scalar; an array is (shape,
// name of the type, bytes) in msgpack. Arrays beyond 1 GiB are maps that say __msgpack_chunked_array__.
#pragma once

#include <memory>

#include "lib/container/stored_tensors.hpp"
#include "lib/tree/plain_tree.hpp"

namespace tare {

struct MsgpackContents {
  PlainTree values;
  std::shared_ptr<StoredTensors> arrays = std::make_shared<StoredTensors>();
};

/// Throws `corrupt` where a length passes the end, `refused` where it asks for more than lib/base/limits.hpp allows.
MsgpackContents read_msgpack(const std::shared_ptr<const Source>& source);

}  // namespace tare
