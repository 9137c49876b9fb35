// A numpy archive from nothing: one array a member, keys of nested maps joined by slashes.
#pragma once

#include "lib/base/bytes.hpp"
#include "lib/tree/document.hpp"

namespace tare {

/// Throws `refused` for anything but tensors in maps.
Bytes new_npz(const Document& document);

}  // namespace tare
