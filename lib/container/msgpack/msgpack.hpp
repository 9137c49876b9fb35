// msgpack, as flax writes its states: no magic number, no index, no checksum. A file is taken for one where it is
// exactly one map with text keys.
#pragma once

#include <memory>

#include "lib/container/container.hpp"

namespace tare {

bool starts_like_msgpack(ByteView head);
/// Integers keep their size where the new value fits in it. Throws what read_msgpack throws.
std::unique_ptr<Container> open_msgpack(const std::shared_ptr<const Source>& source);

}  // namespace tare
