// Several saves of one run as files beside each other in one folder, and which of them the trainer would take up again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/files.hpp"

namespace tare {

struct Saves {
  std::string last;  ///< the file's name
  std::size_t count = 0;
  std::string why;  ///< "what Lightning's ckpt_path=\"last\" loads"
};

/// Lightning's `epoch=1-step=20.ckpt`, with or without a `last.ckpt`; `last.pt` beside `best.pt` and the like; flax's
/// files of a prefix and a number. Nothing for any folder in which another file could be a part of the checkpoint, and
/// where two saves have an equal right.
std::optional<Saves> saves_among(const std::vector<FileEntry>& entries);

}  // namespace tare
