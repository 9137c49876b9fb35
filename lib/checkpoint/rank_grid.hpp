// The ranks that names of files tell of: a grid of numbers from 0 on, and what it lacks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/dialect/rank_sizes.hpp"

namespace tare {

using Numbers = std::vector<std::uint64_t>;

/// Files whose names differ in ranks alone, by the ranks' numbers.
using RankGroup = std::map<Numbers, std::string>;

/// What the files of one save say of its ranks, by the folder that their names are told apart in ("" or "x/").
using SizesByFolder = std::map<std::string, RankSizes>;

struct Grid {
  std::uint64_t expected = 0;  ///< 0: nothing tells, or the numbers are no ranks
  std::vector<Numbers> missing;
};

/// By the names that rank_group gives.
std::map<std::string, RankGroup> groups_of(const std::vector<std::string>& paths);

/// The folder in which a group's ranks are told apart: that of the part in front of the first one.
std::string_view folder_of_group(std::string_view group);
/// Likewise of a path.
std::string rank_folder(std::string_view path);

/// What the files in that folder say; nothing where none says anything.
RankSizes sizes_of(const SizesByFolder& sizes, const std::string& folder);

/// The ranks of a group: as many as its numbers show, and as the sizes say.
Grid grid_of(const std::string& name, const RankGroup& group, const SizesByFolder& sizes);

/// The path with other ranks, each as wide as the one in its place. REQUIRES: a path with as many.
std::string renumbered(const std::string& path, const Numbers& numbers);

}  // namespace tare
