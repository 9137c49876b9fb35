// Tensors of a safetensors image that change their size, or go. Its tensors leave no gaps, so what stands behind them
// moves; the header, in front of all, keeps its length: spaces at its end are part of the format.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "lib/base/source.hpp"
#include "lib/container/file_change.hpp"
#include "lib/container/safetensors/header.hpp"

namespace tare {

/// What tensors become, by their number in the header: bytes, of one dimension; nothing where they go.
using NewTensors = std::map<std::size_t, std::optional<Bytes>>;

/// Patches in the header and a new end of the file; or one splice of a small file whose header has to grow. Throws
/// `refused` where more has to move than limits::max_tensor_read_bytes.
FileChange relaid(const Source& image, const SafetensorsHeader& header, const NewTensors& anew,
                  const std::string& meaning);

}  // namespace tare
