// A tensor of a distributed checkpoint that was saved with SerializationFormat.SAFETENSORS: all tensors of a file stand
// in one safetensors image, and every item names the image's start.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "lib/container/container.hpp"
#include "lib/container/safetensors/header.hpp"

namespace tare {

/// Does an image of safetensors start at `offset`? False where the file ends before.
bool has_safetensors_at(const Source& file, std::uint64_t offset);

/// The tensor of that name in the image that `image` is, whose header is `header`, as a container whose root it is.
/// Throws `corrupt` where it is not among them.
std::unique_ptr<Container> open_image_tensor(const std::shared_ptr<const Source>& image,
                                             const SafetensorsHeader& header, std::string_view name);

}  // namespace tare
