// How many ranks saved a checkpoint, as its files say: DeepSpeed's and Megatron's.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/tree/tree.hpp"

namespace tare {

/// Nothing: the file does not say.
struct RankSizes {
  std::optional<std::uint64_t> partitions;  ///< ranks that share an optimizer's state
  std::optional<std::uint64_t> data;        ///< data-parallel ranks: as many partitions, unless a file says otherwise
  std::optional<std::uint64_t> model;       ///< model- or tensor-parallel ranks
  std::optional<std::uint64_t> pipeline;    ///< stages
  std::optional<std::uint64_t> expert;      ///< expert-parallel ranks
  std::optional<std::uint64_t> zero_stage;  ///< DeepSpeed's: from 1 on the optimizer's state has files of its own

  /// Takes what the other says and this does not; of two numbers the larger.
  void merge(const RankSizes& other);
};

RankSizes rank_sizes(const Tree& tree);

}  // namespace tare
