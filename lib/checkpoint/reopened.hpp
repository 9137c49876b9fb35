// A file of a checkpoint, or the files of one container, opened once more for an edit: a checkpoint keeps what was
// found in its files, not their trees.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

class Reopened {
 public:
  /// Opens the container of files[`file`]. REQUIRES: a checkpoint of the file system. Throws what opening throws, and
  /// `refused` where a file is not the one that was read.
  Reopened(const Checkpoint& checkpoint, std::size_t file);

  [[nodiscard]] const Container& container() const { return *container_; }
  /// The one that reads as `state` did; its nodes are this container's. Throws `refused` where there is none.
  [[nodiscard]] const FoundScaler& scaler(const FoundScaler& state) const;
  /// The number in Checkpoint::files of a part (part 0 is the file itself where the container has none).
  [[nodiscard]] std::size_t file_of_part(std::size_t part) const { return files_[part]; }

  /// The scalers as they would read after `changes`, which are written nowhere. Throws what opening throws.
  [[nodiscard]] std::vector<FoundScaler> scalers_after(std::span<const PartChange> changes) const;

 private:
  void open_single(const CheckpointFile& file);
  void open_several(const CheckpointFile& file);
  [[nodiscard]] std::shared_ptr<const Source> after(std::size_t part, std::span<const PartChange> changes) const;
  [[nodiscard]] std::vector<FoundScaler> scalers_in(const Container& container) const;

  const Checkpoint& checkpoint_;
  std::vector<std::size_t> files_;                      ///< by part
  std::vector<std::shared_ptr<const Source>> sources_;  ///< by part
  std::unique_ptr<const Container> container_;
  std::vector<FoundScaler> scalers_;
};

}  // namespace tare
