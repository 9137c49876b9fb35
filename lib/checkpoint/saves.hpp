// Several saves of one run as files beside each other in one folder, and which of them the trainer would take up again.
#pragma once

#include <optional>
#include <vector>

#include "lib/base/files.hpp"
#include "lib/dialect/saves.hpp"

namespace tare {

/// As some trainer names its saves; or `last.pt` beside `best.pt` and the like. Nothing for any folder in which another
/// file could be a part of the checkpoint, and where two saves have an equal right.
std::optional<Saves> saves_among(const std::vector<FileEntry>& entries);

}  // namespace tare
