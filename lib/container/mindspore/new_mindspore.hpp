// A MindSpore checkpoint from nothing: one record a parameter, no checksum.
#pragma once

#include "lib/base/bytes.hpp"
#include "lib/tree/document.hpp"

namespace tare {

/// Throws `refused` for anything but a map of tensors.
Bytes new_mindspore(const Document& document);

}  // namespace tare
