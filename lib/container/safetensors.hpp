// safetensors: a JSON header with its length in front, then the tensors.
#pragma once

#include <memory>

#include "lib/container/container.hpp"

namespace tare {

bool starts_like_safetensors(const Source& source, ByteView head);
std::unique_ptr<Container> open_safetensors(const std::shared_ptr<const Source>& source);

}  // namespace tare
