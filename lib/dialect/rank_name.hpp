// Whose rank wrote a file, as its name tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tare {

/// A path with its ranks taken out: "zero_pp_rank_*_mp_rank_*_optim_states.pt" and their numbers.
struct RankName {
  std::string group;
  std::string layers;  ///< the same, but with the numbers of ranks that hold other layers: "mp_rank_*_001/..."
  std::vector<std::uint64_t> numbers;  ///< in the order in which they stand; one word may have several
  std::vector<std::pair<std::size_t, std::size_t>> places;  ///< of the numbers: from, to
};

/// Nothing where the path names no rank.
std::optional<RankName> rank_name(std::string_view path);

/// The relative path with every rank number replaced by '*'; nothing where no trainer's rank naming is in it. Files
/// with the same one hold copies of one state: "mp_rank_*/model_optim_rng.pt".
std::optional<std::string> rank_group(std::string_view path);

/// The same with the numbers of ranks that hold layers of their own (stages of a pipeline, experts) as they are: files
/// with the same one hold the same layers. The path itself where no rank is in it.
std::string layers_group(std::string_view path);

/// The folder in which a group's ranks are told apart: that of the part in front of the first one; "" or "x/".
std::string_view folder_of_group(std::string_view group);

}  // namespace tare
