// safetensors: a JSON header with its length in front, then the tensors. Names are the tree's keys, split at their
// dots.
#pragma once

#include <memory>
#include <string_view>

#include "lib/container/container.hpp"
#include "lib/container/safetensors/header.hpp"

namespace tare {

/// By its first bytes alone, as a file is that is not all there yet.
bool starts_like_safetensors(ByteView head);
/// The header fits into the file, too.
bool starts_like_safetensors(const Source& source, ByteView head);

/// Throws what read_safetensors_header throws, and `corrupt` where the tensors leave a gap, overlap, or do not end with
/// the file: the format's own reader takes no such file.
std::unique_ptr<Container> open_safetensors(const std::shared_ptr<const Source>& source);

/// The one tensor of `header` as a container whose root it is.
std::unique_ptr<Container> open_safetensors_tensor(const std::shared_ptr<const Source>& image,
                                                   SafetensorsHeader header);

}  // namespace tare
