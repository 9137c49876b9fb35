// Scalers of many files -> distinct scalers.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

/// Takes one copy after the other, as files are read. Of copies that are alike the state is kept once, so that memory
/// grows with the number of distinct states.
class CopyGroups {
 public:
  CopyGroups() : firsts_(0, Hash{this}, Equal{this}) {}
  CopyGroups(const CopyGroups&) = delete;
  CopyGroups& operator=(const CopyGroups&) = delete;

  /// For so many more copies, of which each may have a state of its own.
  void reserve(std::size_t copies);

  /// Whether it is the first of its state. REQUIRES: copies come in file order. `path` is that of the file that the
  /// copy's container is opened by.
  bool add(FoundScaler state, ScalerCopy copy, const std::string& path);

  /// Copies of rank files that are alike became one scaler; ranks that disagree became scalers of their own, with an
  /// error finding that names them. FP8 state is each rank's own: that of other layers is another's, and ranks that
  /// hold shards of one layer may differ, which one note tells. Leaves nothing behind.
  std::vector<Scaler> take(const std::vector<CheckpointFile>& files, std::vector<Finding>& findings);

 private:
  /// Of indices into scalers_, by what copies of one scaler have in common: the rank files' group (or the file), the
  /// dialect, the path.
  struct Hash {
    const CopyGroups* groups;
    std::size_t operator()(std::size_t number) const;
  };
  struct Equal {
    const CopyGroups* groups;
    bool operator()(std::size_t a, std::size_t b) const;
  };

  /// Indices into scalers_. Where there are many, all are in `by_hash`, too.
  struct Variants {
    std::vector<std::size_t> all;
    std::unordered_multimap<std::size_t, std::size_t> by_hash;
  };

  /// Files by number: those whose copies of one path are copies of one scaler.
  struct FilesNumbers {
    std::string path;
    std::uint32_t of_ranks = 0;   ///< of the rank files' group, or of the file
    std::uint32_t of_layers = 0;  ///< of those among them that hold the same layers
  };

  std::uint32_t number_of(std::string group);
  const FilesNumbers& files_numbers(const std::string& path);
  /// The one whose state is `state`; null where there is none.
  Scaler* find(Variants& alike, const FoundScaler& state);

  std::vector<Scaler> scalers_;
  std::vector<std::uint32_t> files_of_;  ///< by scaler
  std::unordered_map<std::string, std::uint32_t> files_numbers_;
  FilesNumbers last_files_;
  std::unordered_set<std::size_t, Hash, Equal> firsts_;  ///< of each scaler the first state
  std::unordered_map<std::size_t, Variants> with_more_;  ///< by the first, of those with several copies
};

}  // namespace tare
