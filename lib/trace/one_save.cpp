#include "lib/trace/one_save.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

#include "lib/base/file_path.hpp"
#include "lib/dialect/rank_name.hpp"
#include "lib/trace/saved_step.hpp"

namespace tare {
namespace {

/// In the folder itself, and no rank's.
bool is_own(std::string_view path) {
  return path.find('/') == path.npos && !rank_name(path);
}

/// Of a loss scaler each, side by side, and a name among them counts: no checkpoint of several files.
bool holds_several_scalers(const Checkpoint& checkpoint) {
  std::set<std::string_view> saves;
  for (const Scaler& scaler : checkpoint.scalers) {
    if (scaler.state().dialect->kind == "fp8") continue;
    for (const ScalerCopy& copy : scaler.copies) {
      const std::string& path = checkpoint.files[copy.file].path;
      if (is_own(path)) saves.insert(path);
    }
  }
  return saves.size() > 1 && std::ranges::any_of(saves, is_numbered);
}

bool holds_several_steps(const Checkpoint& checkpoint) {
  std::set<std::int64_t> steps;
  for (const CheckpointFile& file : checkpoint.files) {
    const bool is_save = is_own(file.path) || is_first_rank_of_step(file.path);
    const auto step = is_save ? step_in_name(file.path) : std::nullopt;
    if (step) steps.insert(*step);
  }
  return steps.size() > 1;
}

/// Does a state lie in the folder itself, or in one of a rank? Where there is no state, does a file?
bool has_own_file(const Checkpoint& checkpoint) {
  const auto is_here = [&](std::size_t file) {
    const std::string& path = checkpoint.files[file].path;
    const std::size_t slash = path.find('/');
    return slash == path.npos || rank_name(std::string_view(path).substr(0, slash));
  };
  for (std::size_t file = 0; checkpoint.scalers.empty() && file < checkpoint.files.size(); ++file) {
    if (is_here(file)) return true;
  }
  return std::ranges::any_of(checkpoint.scalers, [&](const Scaler& scaler) {
    return std::ranges::any_of(scaler.copies, [&](const ScalerCopy& copy) { return is_here(copy.file); });
  });
}

/// A Trainer's checkpoint-500 has a pointer to its global_step500, accelerate's to pytorch_model: one save.
bool leads_to_own_part(const Checkpoint& checkpoint, const std::string& folder) {
  const auto step = step_in_name(file_name(folder));
  const std::string_view part = file_name(checkpoint.resolved);
  const bool is_folder = checkpoint.resolved != checkpoint.files.front().location;
  return step && is_folder && (!is_numbered(part) || step_in_name(part) == step);
}

}  // namespace

bool may_be_one_save(const std::string& folder, const std::vector<FileEntry>& entries) {
  if (step_in_name(file_name(folder))) return true;
  return std::ranges::any_of(entries, [](const FileEntry& entry) {
    if (rank_name(entry.name)) return true;
    return entry.type == FileType::file && !entry.name.starts_with('.') && !is_no_checkpoint(entry.name);
  });
}

FolderIs kind_of_folder(const Checkpoint& checkpoint, const std::string& folder) {
  const bool tells_step = step_in_name(file_name(folder)).has_value();
  if (checkpoint.resolved != folder) {
    return leads_to_own_part(checkpoint, folder) ? FolderIs::one_save : FolderIs::run;
  }
  if (holds_several_scalers(checkpoint)) return FolderIs::run;
  if (tells_step) return FolderIs::one_save;
  if (holds_several_steps(checkpoint)) return FolderIs::run;
  return has_own_file(checkpoint) ? FolderIs::one_save : FolderIs::other;
}

bool is_first_rank_of_step(std::string_view name) {
  const auto rank = name.find('/') == name.npos ? rank_name(name) : std::nullopt;
  const auto is_zero = [](std::uint64_t number) { return number == 0; };
  return rank && std::ranges::all_of(rank->numbers, is_zero) && step_in_name(name) && !is_no_checkpoint(name);
}

bool has_ranks_of_steps(const std::vector<FileEntry>& entries) {
  std::set<std::int64_t> steps;
  bool has_link = false;  // to the newest of them, which may be the only one
  for (const FileEntry& entry : entries) {
    const bool is_save = entry.type == FileType::file && is_first_rank_of_step(entry.name);
    if (is_save) steps.insert(*step_in_name(entry.name));
    has_link = has_link || entry.type == FileType::link;
  }
  return steps.size() > (has_link ? 0 : 1);
}

Finding too_deep(const std::string& folder) {
  return {Severity::warning, "folder-not-read",
          fmt::format("{}: lies {} folders down, and was not looked into: give it, or one above it", folder,
                      deepest_folder + 1),
          "", ""};
}

}  // namespace tare
