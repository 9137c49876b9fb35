// A checkpoint's file as it would read after an edit, without writing it.
#pragma once

#include <memory>
#include <span>

#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

/// The container of files[`file`] after `changes` of its parts (part 0 is the file itself where it has none).
/// REQUIRES: a checkpoint that was opened with keep_open. Throws what opening throws.
std::unique_ptr<const Container> view_after(const Checkpoint& checkpoint, std::size_t file,
                                            std::span<const PartChange> changes);

/// The number in Checkpoint::files of a part of files[`file`].
std::size_t file_of_part(const Checkpoint& checkpoint, std::size_t file, std::size_t part);

}  // namespace tare
