// msgpack, as flax writes its states: no magic number, no index, no checksum. A file is taken for one where it is
// exactly one map with text keys.
#pragma once

#include <memory>

#include "lib/container/container.hpp"

namespace tare {

bool starts_like_msgpack(ByteView head);
/// Throws `corrupt` where a length passes the end, `refused` where it is nested beyond lib/base/limits.hpp.
std::unique_ptr<Container> open_msgpack(const std::shared_ptr<const Source>& source);

}  // namespace tare
