// The checksum that MindSpore keeps in the metadata of a safetensors file, as text: the CRC-32 of every tensor's name
// and bytes, in the order of the names. Of an integer without dimensions it takes as many zero bytes as its value says:
// so Python's bytes() answers. Source: mindspore/train/serialization.py.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "lib/base/source.hpp"
#include "lib/container/file_change.hpp"
#include "lib/container/safetensors/header.hpp"

namespace tare {

/// The text under "crc_num" in the metadata; empty where there is none.
std::string_view mindspore_checksum(const SafetensorsHeader& header);

/// Whether the checksum is that of the tensors. Small images only: true for one that would take long to read.
bool mindspore_checksum_holds(const Source& image, const SafetensorsHeader& header);

/// What writes the checksum into the header that `patches` of tensors lead to. Throws `corrupt` where the old one does
/// not hold, and `refused` where the new one would take reading a large image, or has no room in the header.
Patch mindspore_checksum_patch(const std::shared_ptr<const Source>& image, const SafetensorsHeader& header,
                               std::span<const Patch> patches);

}  // namespace tare
