// The header of a safetensors image: JSON that names each tensor's type, shape and place.
// Source: the format's description at huggingface/safetensors.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/source.hpp"
#include "lib/tree/tensor.hpp"

namespace tare {

struct SafetensorsEntry {
  std::string name;
  ElementType type;  ///< of size 0 where tare does not know it
  std::vector<std::int64_t> shape;
  Span place;        ///< in the image
  Span member = {};  ///< where the header says so, in the image: name and value
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;                           ///< in the header's order
  std::vector<std::pair<std::string, std::string>> metadata = {};  ///< what `__metadata__` holds
  Span data;                                                       ///< all behind the header
  Span metadata_member = {};
};

/// Reads the header of the image that `source` is. Throws `corrupt` where it is no such header or contradicts itself,
/// `refused` where it is larger than any that the format's own reader takes.
SafetensorsHeader read_safetensors_header(const Source& source);

}  // namespace tare
