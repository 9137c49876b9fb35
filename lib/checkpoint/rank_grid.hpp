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

struct Grid {
  std::uint64_t expected = 0;  ///< 0: nothing tells, or the numbers are no ranks
  std::vector<Numbers> missing;
};

/// By the names that rank_group gives.
std::map<std::string, RankGroup> groups_of(const std::vector<std::string>& paths);

/// The folder in which a path's ranks are told apart.
std::string rank_folder(std::string_view path);

/// The ranks of a group: as many as its numbers show, and as the sizes say.
Grid grid_of(const std::string& name, const RankGroup& group, const SizesByFolder& sizes);

/// The path with other ranks, each as wide as the one in its place. REQUIRES: a path with as many.
std::string renumbered(const std::string& path, const Numbers& numbers);

}  // namespace tare
