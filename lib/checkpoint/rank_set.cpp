#include "lib/checkpoint/rank_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "lib/base/file_path.hpp"
#include "lib/base/limits.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/checkpoint/numbered_parts.hpp"
#include "lib/checkpoint/rank_grid.hpp"
#include "lib/checkpoint/several_files.hpp"

namespace tare {
namespace {

constexpr std::size_t most_named = 4;
constexpr std::string_view universal_state = "zero/optimizer_state.pt";

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

/// DeepSpeed's files of one folder: which kinds are there.
struct DeepSpeedFiles {
  bool has_model = false, has_optimizer = false, is_universal = false;
  std::string first;
};

std::map<std::string, DeepSpeedFiles> deepspeed_files(const std::vector<std::string>& paths) {
  std::map<std::string, DeepSpeedFiles> folders;
  for (const std::string& path : paths) {
    const auto group = rank_group(path);
    if (path.ends_with(universal_state))
      folders[path.substr(0, path.size() - universal_state.size())].is_universal = true;
    if (!group) continue;
    const std::string folder(folder_of_group(*group));
    const std::string_view name = std::string_view(*group).substr(folder.size());
    const bool is_model = name == "mp_rank*_model_states.pt" || name == "zero_pp_rank*_mp_rank*_model_states.pt";
    const bool is_optimizer = name.ends_with("zero_pp_rank*_mp_rank*_optim_states.pt");
    if (!is_model && !is_optimizer) continue;
    DeepSpeedFiles& files = folders[folder];
    if (files.first.empty()) files.first = path;
    files.has_model = files.has_model || is_model;
    files.has_optimizer = files.has_optimizer || is_optimizer;
  }
  return folders;
}

bool lacks_optimizer(const DeepSpeedFiles& files, const RankSizes& sizes) {
  return files.has_model && !files.has_optimizer && !files.is_universal && sizes.zero_stage.value_or(0) > 0;
}

void tell_of_absent_kinds(const std::vector<std::string>& paths, const SizesByFolder& sizes,
                          std::vector<Finding>& findings) {
  for (const auto& [folder, files] : deepspeed_files(paths)) {
    if (files.has_optimizer && !files.has_model) {
      tell_missing(files.first, "DeepSpeed's model states, mp_rank_00_model_states.pt and its like, are not there",
                   findings);
    }
    if (lacks_optimizer(files, sizes_of(sizes, folder))) {
      tell_missing(
          files.first,
          fmt::format("{} expected and 0 there: none of zero_pp_rank_0_mp_rank_00_optim_states.pt and its like",
                      plural(sizes_of(sizes, folder).data.value_or(1), "file of the optimizer's ranks")),
          findings);
    }
  }
}

/// Files that a framework always writes beside others, in one folder.
struct FilePair {
  std::string_view file, beside, what;
};

constexpr std::array pairs = {
    FilePair{"distrib_optim.pt", "model_optim_rng.pt", "where Megatron keeps its grad scaler"},
};

std::string beside(const std::string& path, const FilePair& pair) {
  return path.substr(0, path.size() - pair.file.size()).append(pair.beside);
}

/// `tell(pair, path of what it should stand beside)`
template <class Tell>
void for_each_lonely(const std::vector<std::string>& paths, const Tell& tell) {
  const std::set<std::string> there(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    for (const FilePair& pair : pairs) {
      if (file_name(path) == pair.file && !there.contains(beside(path, pair))) tell(pair, path);
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

/// The names that DeepSpeed gives the optimizer's files.
void add_optimizer_files(const std::string& folder, const RankSizes& sizes, std::vector<std::string>& names) {
  const std::uint64_t partitions = std::min<std::uint64_t>(sizes.data.value_or(1), limits::max_files);
  for (const std::string_view prefix : {"", "bf16_"}) {
    for (std::uint64_t rank = 0; rank < partitions; ++rank) {
      names.push_back(fmt::format("{}{}zero_pp_rank_{}_mp_rank_00_optim_states.pt", folder, prefix, rank));
    }
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
  for (const auto& [folder, files] : deepspeed_files(paths)) {
    if (lacks_optimizer(files, sizes_of(sizes, folder))) add_optimizer_files(folder, sizes_of(sizes, folder), names);
    if (files.has_optimizer && !files.has_model) names.push_back(folder + "mp_rank_00_model_states.pt");
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
