// MindSpore's `.ckpt`: protobuf records, one a parameter, one after the other.
#pragma once

#include <memory>

#include "lib/container/container.hpp"

namespace tare {

bool starts_like_mindspore(const Source& source, ByteView head);
std::unique_ptr<Container> open_mindspore(const std::shared_ptr<const Source>& source);

}  // namespace tare
