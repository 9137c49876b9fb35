#include "lib/checkpoint/rank_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "lib/base/limits.hpp"
#include "lib/dialect/rank_name.hpp"
#include "lib/dialect/trainer.hpp"

namespace tare {
namespace {

using Size = RankSizes::Size;

/// Some write a rank twice, into the folder's name and the file's: once is enough.
RankGroup without_repetition(const RankGroup& group) {
  const std::size_t dimensions = group.begin()->first.size();
  const auto repeats = [&](std::size_t column) {
    const auto equals = [&](std::size_t earlier) {
      return std::all_of(group.begin(), group.end(),
                         [&](const auto& file) { return file.first[column] == file.first[earlier]; });
    };
    for (std::size_t earlier = 0; earlier < column; ++earlier) {
      if (equals(earlier)) return true;
    }
    return false;
  };
  RankGroup shorter;
  for (const auto& [numbers, path] : group) {
    Numbers kept;
    for (std::size_t column = 0; column < dimensions; ++column) {
      if (!repeats(column)) kept.push_back(numbers[column]);
    }
    shorter.emplace(std::move(kept), path);
  }
  return shorter;
}

/// The next combination below `ends`, last number first; false after the last one.
bool advance(Numbers& numbers, const Numbers& ends) {
  for (std::size_t i = numbers.size(); i-- > 0;) {
    if (++numbers[i] < ends[i]) return true;
    numbers[i] = 0;
  }
  return false;
}

/// As many as a name has numbers. Megatron leaves out the numbers of what there is one of, but for the first.
std::vector<Size> named_sizes(const RankFiles& files, const RankSizes& sizes) {
  std::vector<Size> named = {files.sizes.front()};
  std::copy_if(files.sizes.begin() + 1, files.sizes.end(), std::back_inserter(named), [&](Size size) {
    return size != nullptr && (!files.group.ends_with('/') || (sizes.*size).value_or(1) > 1);
  });
  return named;
}

const RankFiles* files_of(std::string_view in_folder) {
  for (const Trainer* trainer : trainers()) {
    for (const RankFiles& row : trainer->rank_files) {
      if (row.group.ends_with('/') ? in_folder.starts_with(row.group) : in_folder == row.group) return &row;
    }
  }
  return nullptr;
}

/// What each dimension of a grid of ranks ends with; 0 where the sizes do not say.
Numbers expected_ends(std::string_view group, std::size_t dimensions, const RankSizes& sizes) {
  Numbers ends(dimensions, 0);
  const RankFiles* files = files_of(group.substr(folder_of_group(group).size()));
  if (files == nullptr) return ends;
  const std::vector<Size> named = named_sizes(*files, sizes);
  if (named.size() != dimensions) return ends;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::uint64_t otherwise = named[i] == &RankSizes::partitions ? sizes.data.value_or(0) : 0;
    ends[i] = (sizes.*named[i]).value_or(otherwise);
  }
  return ends;
}

/// Nothing is expected of names whose numbers are no ranks after all.
Grid grid_of(const RankGroup& group, Numbers ends) {
  bool is_known = false;
  std::uint64_t known = 1;
  for (const std::uint64_t end : ends) {
    is_known = is_known || end > 0;
    known = std::min(known * std::clamp<std::uint64_t>(end, 1, limits::max_files), std::uint64_t{limits::max_files});
  }
  for (const auto& [numbers, path] : group) {
    for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = std::max(ends[i], numbers[i] + 1);
  }
  // Numbers far apart would be something else: a step, a date.
  const std::uint64_t most = std::max<std::uint64_t>(64 * group.size(), is_known ? known : 0);
  Grid grid{1, {}};
  for (const std::uint64_t end : ends) {
    if (end > most || (grid.expected *= end) > most) return {};
  }
  Numbers numbers(ends.size(), 0);
  do {
    if (!group.contains(numbers)) grid.missing.push_back(numbers);
  } while (advance(numbers, ends));
  return grid;
}

/// One number for each dimension of the grid; nothing where the names differ in that.
std::optional<std::size_t> dimensions_of(const RankGroup& group) {
  const std::size_t dimensions = group.begin()->first.size();
  const bool is_grid =
      std::all_of(group.begin(), group.end(), [&](const auto& file) { return file.first.size() == dimensions; });
  return is_grid ? std::optional(dimensions) : std::nullopt;
}

}  // namespace

std::string rank_folder(std::string_view path) {
  const auto group = rank_group(path);
  return std::string(folder_of_group(group ? std::string_view(*group) : path));
}

std::map<std::string, RankGroup> groups_of(const std::vector<std::string>& paths) {
  std::map<std::string, RankGroup> groups;
  for (const std::string& path : paths) {
    if (auto name = rank_name(path)) groups[name->group].emplace(std::move(name->numbers), path);
  }
  return groups;
}

Grid grid_of(const std::string& name, const RankGroup& group, const SizesByFolder& sizes) {
  const auto dimensions = dimensions_of(group);
  if (!dimensions) return {};
  const RankSizes known = sizes_of(sizes, std::string(folder_of_group(name)));
  const Numbers ends = expected_ends(name, *dimensions, known);
  if (std::any_of(ends.begin(), ends.end(), [](std::uint64_t end) { return end > 0; })) return grid_of(group, ends);
  const RankGroup shorter = without_repetition(group);
  return grid_of(shorter, Numbers(shorter.begin()->first.size(), 0));
}

std::string renumbered(const std::string& path, const Numbers& numbers) {
  std::string name;
  std::size_t done = 0;
  const auto places = rank_name(path)->places;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto [from, to] = places[i];
    name += path.substr(done, from - done) + fmt::format("{:0{}}", numbers[i], to - from);
    done = to;
  }
  return name + path.substr(done);
}

}  // namespace tare
