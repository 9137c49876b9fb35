// A file of a checkpoint, or the files of one container, opened once more for an edit: a checkpoint keeps what was
// found in its files, not their trees.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/checkpoint/checkpoint.hpp"
#include "lib/container/kept_directory.hpp"

namespace tare {

/// Where a field stands: its node, and where that holds a document of its own, its node in that.
struct FieldNode {
  NodeId node = nowhere;
  std::vector<NodeId> inside;
  NodeId mirror = nowhere;  ///< of the field
};

class Reopened {
 public:
  /// Opens the container of files[`file`] for `known`, scalers of that file; both outlive this. REQUIRES: a checkpoint
  /// of the file system, or of a store whose sources have versions. Throws what opening throws, and `refused` where a
  /// file is not the one that was read.
  Reopened(const Checkpoint& checkpoint, std::size_t file, std::span<const FoundScaler* const> known = {});

  [[nodiscard]] const Container& container() const { return *container_; }
  /// Where the fields of one of the known scalers stand in this container, in their order. Throws `refused` where it no
  /// longer reads as it did.
  [[nodiscard]] const std::vector<FieldNode>& nodes_of(const FoundScaler& known) const;
  /// The number in Checkpoint::files of a part (part 0 is the file itself where the container has none).
  [[nodiscard]] std::size_t file_of_part(std::size_t part) const { return files_[part]; }

  /// The bytes of a part, as they were read.
  [[nodiscard]] const std::shared_ptr<const Source>& source_of_part(std::size_t part) const { return sources_[part]; }

  /// Lets go of the container, whose tree may be large, when nothing more is asked of it. What follows can still be.
  void close_container();

  /// Calls `see` with each scaler as it would read after `changes`, which are written nowhere. Throws what opening
  /// throws.
  void each_scaler_after(std::span<const PartChange> changes, const std::function<void(const FoundScaler&)>& see) const;

 private:
  void open_single(const CheckpointFile& file);
  /// The container in which the known scalers were found.
  void take_over(KeptFile& kept, std::span<const FoundScaler* const> known);
  void find_again(std::span<const FoundScaler* const> known);
  void open_several(const CheckpointFile& file);
  [[nodiscard]] std::shared_ptr<const Source> after(std::size_t part, std::span<const PartChange> changes) const;
  void each_scaler_in(const Container& container, const std::function<void(const FoundScaler&)>& see) const;

  const Checkpoint& checkpoint_;
  std::vector<std::size_t> files_;                      ///< by part
  std::vector<std::shared_ptr<const Source>> sources_;  ///< by part
  std::vector<std::string> names_;                      ///< of the parts of several
  std::unique_ptr<const Container> container_;
  std::shared_ptr<const KeptDirectory> directory_;  ///< of a container that was closed; null where it has none
  std::shared_ptr<KeptArchive> archive_;            ///< the same
  std::unordered_map<const FoundScaler*, std::vector<FieldNode>> nodes_;  ///< by known scaler
};

}  // namespace tare
