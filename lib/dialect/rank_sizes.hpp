// How many ranks saved a checkpoint, as its files say.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "lib/tree/tree.hpp"

namespace tare {

/// Nothing: the file does not say.
struct RankSizes {
  using Size = std::optional<std::uint64_t> RankSizes::*;

  std::optional<std::uint64_t> partitions;  ///< ranks that share an optimizer's state
  std::optional<std::uint64_t> data;        ///< data-parallel ranks: as many partitions, unless a file says otherwise
  std::optional<std::uint64_t> model;       ///< model- or tensor-parallel ranks
  std::optional<std::uint64_t> pipeline;    ///< stages
  std::optional<std::uint64_t> expert;      ///< expert-parallel ranks
  std::optional<std::uint64_t> zero_stage;  ///< DeepSpeed's: from 1 on the optimizer's state has files of its own

  /// Takes what the other says and this does not; of two numbers the larger.
  void merge(const RankSizes& other);
};

/// What the trainers' places in it say.
RankSizes rank_sizes(const Tree& tree);

/// What the files of one save say of its ranks, by the folder that their names are told apart in ("" or "x/").
using SizesByFolder = std::map<std::string, RankSizes>;

/// What the files in that folder say; nothing where none says anything.
RankSizes sizes_of(const SizesByFolder& sizes, const std::string& folder);

}  // namespace tare
