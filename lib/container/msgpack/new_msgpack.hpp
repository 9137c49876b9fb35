// A msgpack document from nothing, as flax.serialization.to_bytes writes it.
#pragma once

#include "lib/base/bytes.hpp"
#include "lib/tree/document.hpp"

namespace tare {

/// Throws `refused` for what msgpack has no form for: objects and names.
Bytes new_msgpack(const Document& document);

}  // namespace tare
