#include "lib/checkpoint/rank_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "lib/checkpoint/names.hpp"
#include "lib/checkpoint/several_files.hpp"

namespace tare {
namespace {

constexpr std::size_t most_named = 4;

using Numbers = std::vector<std::uint64_t>;

/// Files whose names differ in ranks alone, by the ranks' numbers.
using RankGroup = std::map<Numbers, std::string>;

std::map<std::string, RankGroup> groups_of(const std::vector<std::string>& paths) {
  std::map<std::string, RankGroup> groups;
  for (const std::string& path : paths) {
    if (auto name = rank_name(path)) groups[name->group].emplace(std::move(name->numbers), path);
  }
  return groups;
}

/// A checkpoint of several files says itself which it has.
std::vector<std::string> paths_of(const std::vector<CheckpointFile>& files) {
  std::vector<std::string> paths;
  for (const CheckpointFile& file : files) {
    if (!is_of_several_files(file_name(file.path))) paths.push_back(file.path);
  }
  return paths;
}

/// MindSpore writes a rank twice, into the folder's name and the file's: once is enough.
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

/// "rank 3", "ranks 0_1, 0_2 and 5 more"
std::string listed(const std::vector<Numbers>& ranks) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(ranks.size(), most_named); ++i) {
    names.push_back(fmt::format("{}", fmt::join(ranks[i], "_")));
  }
  const std::size_t more = ranks.size() - names.size();
  return fmt::format("rank{} {}{}", ranks.size() == 1 ? "" : "s", fmt::join(names, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

/// The next combination below `ends`, last number first; false after the last one.
bool advance(Numbers& numbers, const Numbers& ends) {
  for (std::size_t i = numbers.size(); i-- > 0;) {
    if (++numbers[i] < ends[i]) return true;
    numbers[i] = 0;
  }
  return false;
}

/// Ranks are a grid from 0 on: what it lacks. Empty for names whose numbers are no ranks after all.
std::vector<Numbers> missing_ranks(const RankGroup& group) {
  const std::size_t dimensions = group.begin()->first.size();
  Numbers ends(dimensions, 0);
  for (const auto& [numbers, path] : group) {
    for (std::size_t i = 0; i < dimensions; ++i) ends[i] = std::max(ends[i], numbers[i] + 1);
  }
  // Numbers far apart would be something else: a step, a date.
  std::uint64_t all = 1;
  for (const std::uint64_t end : ends) {
    if (end > 64 * group.size()) return {};
    all *= end;
    if (all > 64 * group.size()) return {};
  }
  std::vector<Numbers> missing;
  Numbers numbers(dimensions, 0);
  do {
    if (!group.contains(numbers)) missing.push_back(numbers);
  } while (advance(numbers, ends));
  return missing;
}

void tell_of_gaps(const std::map<std::string, RankGroup>& groups, std::vector<Finding>& findings) {
  for (const auto& [name, group] : groups) {
    const std::size_t dimensions = group.begin()->first.size();
    const bool is_grid =
        std::all_of(group.begin(), group.end(), [&](const auto& file) { return file.first.size() == dimensions; });
    if (group.size() < 2 || !is_grid) continue;
    const std::vector<Numbers> missing = missing_ranks(without_repetition(group));
    if (missing.empty()) continue;
    findings.push_back({Severity::warning, "rank-missing",
                        fmt::format("{} rank files are there, but not that of {}", group.size(), listed(missing)),
                        group.begin()->second, ""});
  }
}

void tell_of_absence(const std::vector<Scaler>& scalers, const std::vector<CheckpointFile>& files,
                     const std::map<std::string, RankGroup>& groups, std::vector<Finding>& findings) {
  std::map<std::size_t, std::set<std::string>> holders;  // by the scalers' group
  for (const Scaler& scaler : scalers) {
    for (const ScalerCopy& copy : scaler.copies) holders[scaler.group].insert(files[copy.file].path);
  }
  for (const Scaler& scaler : scalers) {
    const auto found = holders.find(scaler.group);
    if (found == holders.end()) continue;
    const std::set<std::string> paths = std::move(found->second);
    holders.erase(found);
    const auto group = rank_group(*paths.begin());
    // One file that has it alone is its framework's way.
    if (!group || !groups.contains(*group) || paths.size() < 2) continue;
    std::vector<Numbers> without;
    for (const auto& [numbers, path] : groups.at(*group)) {
      if (!paths.contains(path)) without.push_back(numbers);
    }
    if (without.empty()) continue;
    findings.push_back({Severity::error, "copies-missing",
                        fmt::format("{} rank files hold it, but not that of {}", paths.size(), listed(without)), "",
                        scaler.state().path});
  }
}

}  // namespace

void tell_of_incomplete_ranks(const std::vector<Scaler>& scalers, const std::vector<CheckpointFile>& files,
                              std::vector<Finding>& findings) {
  std::vector<std::string> paths = paths_of(files);
  tell_of_absence(scalers, files, groups_of(paths), findings);
  for (const Finding& finding : findings) {
    if (finding.code == "file-not-read") paths.push_back(finding.file);
  }
  tell_of_gaps(groups_of(paths), findings);
}

}  // namespace tare
