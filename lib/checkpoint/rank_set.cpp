#include "lib/checkpoint/rank_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "lib/base/file_path.hpp"
#include "lib/checkpoint/numbered_parts.hpp"
#include "lib/checkpoint/rank_grid.hpp"
#include "lib/checkpoint/several_files.hpp"
#include "lib/dialect/rank_name.hpp"
#include "lib/dialect/trainer.hpp"

namespace tare {
namespace {

constexpr std::size_t most_named = 4;

/// A checkpoint of several files says itself which it has.
std::vector<std::string> paths_of(const std::vector<CheckpointFile>& files) {
  std::vector<std::string> paths;
  for (const CheckpointFile& file : files) {
    if (!is_of_several_files(file_name(file.path))) paths.push_back(file.path);
  }
  return paths;
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

std::string plural(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{} {}", count, what, count == 1 ? "" : "s", count == 1 ? "is" : "are");
}

void tell_missing(const std::string& file, std::string message, std::vector<Finding>& findings) {
  findings.push_back({Severity::error, "rank-missing", std::move(message), file, ""});
}

void tell_of_gaps(const std::map<std::string, RankGroup>& groups, const SizesByFolder& sizes,
                  std::vector<Finding>& findings) {
  for (const auto& [name, group] : groups) {
    const Grid grid = grid_of(name, group, sizes);
    if (grid.missing.empty()) continue;
    tell_missing(group.begin()->second,
                 fmt::format("{} expected and {} there: not that of {}", plural(grid.expected, "rank file"),
                             grid.expected - grid.missing.size(), listed(grid.missing)),
                 findings);
  }
}

// ---- kinds of files that come together

void tell_of_absent_kinds(std::span<const std::string> paths, const SizesByFolder& sizes,
                          std::vector<Finding>& findings) {
  for (const Trainer* trainer : trainers()) {
    if (trainer->find_absent == nullptr) continue;
    for (AbsentFiles& absent : trainer->find_absent(paths, sizes)) {
      tell_missing(absent.beside, std::move(absent.message), findings);
    }
  }
}

std::string beside(const std::string& path, const FilePair& pair) {
  return path.substr(0, path.size() - pair.file.size()).append(pair.beside);
}

/// `tell(pair, path of what it should stand beside)`
template <class Tell>
void for_each_lonely(const std::vector<std::string>& paths, const Tell& tell) {
  const std::set<std::string> there(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    for (const Trainer* trainer : trainers()) {
      for (const FilePair& pair : trainer->pairs) {
        if (file_name(path) == pair.file && !there.contains(beside(path, pair))) tell(pair, path);
      }
    }
  }
}

void tell_of_lonely(const std::vector<std::string>& paths, std::vector<Finding>& findings) {
  for_each_lonely(paths, [&](const FilePair& pair, const std::string& path) {
    tell_missing(path, fmt::format("{}, {}, is not there", pair.beside, pair.what), findings);
  });
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
    const std::string& first = *paths.begin();
    const auto group = rank_group(first);
    // One file that has it alone is its framework's way.
    if (!group || !groups.contains(*group) || paths.size() < 2) continue;
    const bool is_layer = scaler.state().dialect->kind == "fp8";  // other stages of a pipeline have others
    std::vector<Numbers> without;
    for (const auto& [numbers, path] : groups.at(*group)) {
      const bool is_meant = !is_layer || layers_group(path) == layers_group(first);
      if (is_meant && !paths.contains(path)) without.push_back(numbers);
    }
    if (without.empty()) continue;
    findings.push_back({Severity::error, "copies-missing",
                        fmt::format("{} rank files hold it, but not that of {}", paths.size(), listed(without)), "",
                        scaler.state().path});
  }
}

}  // namespace

std::vector<std::string> absent_rank_files(const std::vector<std::string>& paths, const SizesByFolder& sizes) {
  std::vector<std::string> names;
  for (const auto& [name, group] : groups_of(paths)) {
    const auto& [numbers, path] = *group.begin();
    for (const Numbers& missing : grid_of(name, group, sizes).missing) {
      if (missing.size() == numbers.size()) names.push_back(renumbered(path, missing));
    }
  }
  for (const Trainer* trainer : trainers()) {
    if (trainer->find_absent == nullptr) continue;
    for (const AbsentFiles& absent : trainer->find_absent(paths, sizes)) {
      names.insert(names.end(), absent.names.begin(), absent.names.end());
    }
  }
  for_each_lonely(paths, [&](const FilePair& pair, const std::string& path) { names.push_back(beside(path, pair)); });
  return names;
}

void tell_of_incomplete_ranks(const std::vector<Scaler>& scalers, const std::vector<CheckpointFile>& files,
                              const SizesByFolder& sizes, std::vector<Finding>& findings) {
  std::vector<std::string> paths = paths_of(files);
  tell_of_absence(scalers, files, groups_of(paths), findings);
  for (const Finding& finding : findings) {
    const bool is_rank = finding.code == "file-not-read" && !is_of_several_files(file_name(finding.file));
    if (is_rank) paths.push_back(finding.file);
  }
  tell_of_gaps(groups_of(paths), sizes, findings);
  tell_of_absent_kinds(paths, sizes, findings);
  tell_of_lonely(paths, findings);
  for (Finding& finding : told_of_parts(paths)) findings.push_back(std::move(finding));
}

}  // namespace tare
