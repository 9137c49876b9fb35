// The header of a safetensors image: JSON that names each tensor's type, shape and place.
// Source: the format's description at huggingface/safetensors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/source.hpp"
#include "lib/tree/tensor.hpp"

namespace tare {

struct SafetensorsEntry {
  std::string name;
  ElementType type;  ///< of size 0 where tare does not know it
  std::vector<std::int64_t> shape;
  Span place;  ///< in the image
};

/// Reads the header of the image that `source` is. Throws `corrupt` where it is no such header or contradicts itself,
/// `refused` where it is larger than any that the format's own reader takes.
std::vector<SafetensorsEntry> read_safetensors_header(const Source& source);

}  // namespace tare
