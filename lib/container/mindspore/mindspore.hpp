// MindSpore's `.ckpt`: protobuf records, one a parameter, one after the other. An encrypted one is another format: see
// sniff.cpp.
#pragma once

#include <memory>

#include "lib/container/container.hpp"

namespace tare {

bool starts_like_mindspore(const Source& source, ByteView head);
/// The parameters, tensors and texts, in maps by their names, which are split at dots. Throws as
/// read_mindspore_records.
std::unique_ptr<Container> open_mindspore(const std::shared_ptr<const Source>& source);

}  // namespace tare
