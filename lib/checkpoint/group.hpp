// Scalers of many files -> distinct scalers.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

/// Takes one copy after the other, as files are read. Of copies that are alike the state is kept once, so that memory
/// grows with the number of distinct states.
class CopyGroups {
 public:
  /// Whether it is the first of its state. REQUIRES: copies come in file order. `path` is that of the file that the
  /// copy's container is opened by.
  bool add(FoundScaler state, ScalerCopy copy, const std::string& path);

  /// Copies of rank files that are alike became one scaler; ranks that disagree became scalers of their own, with an
  /// error finding that names them. Leaves nothing behind.
  std::vector<Scaler> take(const std::vector<CheckpointFile>& files, std::vector<Finding>& findings);

 private:
  /// What copies of one scaler have in common: the rank files' group (or the file), the dialect, the path.
  using Identity = std::tuple<std::string, std::string_view, std::string>;

  /// Indices into scalers_. Where there are many, all are in `by_hash`, too.
  struct Variants {
    std::vector<std::size_t> all;
    std::unordered_multimap<std::size_t, std::size_t> by_hash;
  };

  /// The one whose state is `state`; null where there is none.
  Scaler* find(Variants& alike, const FoundScaler& state);

  std::vector<Scaler> scalers_;
  std::map<Identity, Variants> variants_;
};

}  // namespace tare
