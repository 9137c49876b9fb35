// What file names tell: their order, whose rank wrote a file, and whether a name may be followed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tare {

/// Numbers in names compare as numbers: "rank2" before "rank10".
bool natural_less(std::string_view a, std::string_view b);

/// A path with its ranks taken out: "zero_pp_rank_*_mp_rank_*_optim_states.pt" and their numbers.
struct RankName {
  std::string group;
  std::vector<std::uint64_t> numbers;  ///< in the order in which they stand; one word may have several
  std::vector<std::pair<std::size_t, std::size_t>> places;  ///< of the numbers: from, to
};

/// Nothing where the path names no rank.
std::optional<RankName> rank_name(std::string_view path);

/// The relative path with every rank number replaced by '*'; nothing where no framework's rank naming is in it. Files
/// with the same one hold copies of one state: "mp_rank_*/model_optim_rng.pt".
std::optional<std::string> rank_group(std::string_view path);

/// Neither absolute nor empty, and no part is "..": all that a name stored in a file may be.
bool is_plain_relative(std::string_view name);

/// In lower case, with the dot; empty where there is none.
std::string extension(std::string_view path);

}  // namespace tare
