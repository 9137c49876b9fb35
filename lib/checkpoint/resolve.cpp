#include "lib/checkpoint/resolve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/checkpoint/run_folders.hpp"
#include "lib/checkpoint/run_pointers.hpp"
#include "lib/checkpoint/saves.hpp"
#include "lib/checkpoint/unfinished_saves.hpp"

namespace tare {
namespace {

/// Where numbered folders lie below a project's own (accelerate's, Orbax').
constexpr std::string_view inner_folder = "checkpoints";
/// A run of a run (a Trainer's folder with a DeepSpeed pointer in it), not more.
constexpr int most_steps = 4;

/// What a folder in torch's distributed format writes last.
constexpr std::string_view last_in_folder = ".metadata";

/// When the file, or the last one of the folder, was written. Stores and callers of the library do not say.
std::optional<std::pair<std::int64_t, std::int64_t>> written_at(const Files& files, const std::string& path) {
  try {
    const bool is_folder = files.type(path) == FileType::folder;
    const auto opened = files.open(is_folder ? fmt::format("{}/{}", path, last_in_folder) : path);
    const auto* file = dynamic_cast<const FileSource*>(opened.get());
    if (file == nullptr) return std::nullopt;
    return std::pair<std::int64_t, std::int64_t>(file->status().st_mtim.tv_sec, file->status().st_mtim.tv_nsec);
  } catch (const Error&) {
    return std::nullopt;  // whoever reads it tells of it
  }
}

/// Of several with an equal right to be the last save the one that was written last.
void settle(const Files& files, const std::string& directory, Saves& saves) {
  if (saves.rivals.size() < 2) return;
  std::vector<std::pair<std::pair<std::int64_t, std::int64_t>, std::string>> written;
  for (const std::string& name : saves.rivals) {
    const auto at = written_at(files, fmt::format("{}/{}", directory, name));
    if (at) written.emplace_back(*at, name);
  }
  if (written.size() < saves.rivals.size()) {
    saves.why = fmt::format("one of {}, the newest of which is {}", saves.rivals.size(), saves.why);
    return;
  }
  saves.last = std::ranges::max(written).second;
  saves.why += fmt::format(", the newest of {} that it may be", saves.rivals.size());
}

/// What a link leads to, where that is another entry of its folder.
std::optional<std::string> named_beside(const Files& files, const std::string& directory, const std::string& link) {
  auto target = files.link_target(fmt::format("{}/{}", directory, link));
  const bool is_beside = target && is_plain_relative(*target) && target->find('/') == target->npos;
  return is_beside ? target : std::nullopt;
}

std::optional<std::string> by_name(const Files& files, const std::string& directory,
                                   const std::vector<FileEntry>& entries, std::vector<Finding>& findings) {
  auto saves = saves_among(entries);
  if (!saves) return std::nullopt;
  settle(files, directory, *saves);
  if (named_beside(files, directory, saves->last)) --saves->count;
  findings.push_back({Severity::note, "run-directory",
                      fmt::format("a run of {} checkpoints: {} is {}", saves->count, saves->last, saves->why), "", ""});
  return saves->last;
}

std::optional<std::string> by_trainer_or_name(const Files& files, const std::string& directory,
                                              const std::vector<FileEntry>& entries, std::vector<Finding>& findings) {
  auto save = by_trainer(files, directory, entries, findings);
  return save ? save : by_name(files, directory, entries, findings);
}

/// How a save among the entries of a directory is chosen.
using Choose = decltype(by_trainer_or_name);

/// The entries as a trainer sees them: links that stay inside are what they lead to. Nothing where there are none.
std::optional<std::vector<FileEntry>> with_links_inside(const Files& files, const std::string& directory,
                                                        std::vector<FileEntry> entries) {
  bool has_any = false;
  for (FileEntry& entry : entries) {
    const std::string path = fmt::format("{}/{}", directory, entry.name);
    const bool leads_inside = entry.type == FileType::link && files.is_inside(path, directory);
    if (!leads_inside || files.type(path) == FileType::absent) continue;
    entry.type = files.type(path);
    has_any = true;
  }
  return has_any ? std::optional(std::move(entries)) : std::nullopt;
}

/// A save that was moved to another disk, with a link in its place: trainers follow that.
void refuse_link(const Files& files, const std::string& directory, const std::vector<FileEntry>& entries,
                 Choose* choose) {
  std::vector<FileEntry> followed = entries;
  std::set<std::string_view> leading_out;
  for (FileEntry& entry : followed) {
    const std::string path = fmt::format("{}/{}", directory, entry.name);
    if (entry.type != FileType::link || files.is_inside(path, directory)) continue;
    const FileType type = files.type(path);
    if (type == FileType::absent && named_beside(files, directory, entry.name)) continue;  // its save was deleted
    entry.type = type;
    leading_out.insert(entry.name);
  }
  if (leading_out.empty()) return;
  std::vector<Finding> led_there;
  const auto save = choose(files, directory, followed, led_there);
  if (!save || !leading_out.contains(*save)) return;
  const std::string path = fmt::format("{}/{}", directory, *save);
  throw LinkNotFollowed(path, fmt::format("{}: {}, and a link to {}, out of the run, which is not followed", directory,
                                          led_there.back().message, files.link_target(path).value_or("")));
}

/// Of a link to another save that one: an edit is of the file that the link leads to.
std::optional<std::string> chosen_among(const Files& files, const std::string& directory,
                                        const std::vector<FileEntry>& entries, Choose* choose,
                                        std::vector<Finding>& findings) {
  refuse_link(files, directory, entries, choose);
  auto save = choose(files, directory, entries, findings);
  const auto target = save ? named_beside(files, directory, *save) : std::nullopt;
  if (!target) return save;
  findings.back().message += fmt::format(", a link to {}", *target);
  return target;
}

std::optional<std::string> chosen_of(const Files& files, const std::string& directory,
                                     const std::vector<FileEntry>& entries, Choose* choose,
                                     std::vector<Finding>& findings) {
  if (const auto followed = with_links_inside(files, directory, entries)) {
    if (auto save = chosen_among(files, directory, *followed, choose, findings)) return save;
  }
  return chosen_among(files, directory, entries, choose, findings);  // a link's own name may tell of no trainer
}

/// Beside unfinished saves: the one that is called as they are.
std::optional<std::string> only_finished(const std::string& directory, const std::vector<UnfinishedSave>& unfinished,
                                         const std::vector<FileEntry>& entries, std::vector<Finding>& findings) {
  const std::string ending(extension(unfinished.front().name));
  std::vector<std::string> finished;
  for (const FileEntry& entry : entries) {
    if (extension(entry.name) == ending && entry.type == FileType::file) finished.push_back(entry.name);
  }
  if (finished.empty()) {
    throw Error(Status::refused, fmt::format("{}: no save in it was finished", directory),
                fmt::format("give {}/{} itself, if it is meant", directory, unfinished.front().name));
  }
  if (finished.size() > 1) return std::nullopt;
  findings.push_back({Severity::note, "run-directory",
                      fmt::format("a run: {} is the only save that was finished", finished.front()), "", ""});
  return finished.front();
}

std::optional<std::string> chosen_in(const Files& files, const std::string& directory, Choose* choose,
                                     std::vector<Finding>& findings) {
  std::vector<FileEntry> entries = files.list(directory);
  const std::vector<UnfinishedSave> unfinished = unfinished_saves(directory, entries);
  leave_out(unfinished, entries);
  auto save = chosen_of(files, directory, entries, choose, findings);
  if (!save && !unfinished.empty()) save = only_finished(directory, unfinished, entries, findings);
  for (std::size_t i = 0; save && i < unfinished.size(); ++i) findings.push_back(unfinished[i].finding);
  return save;
}

std::optional<std::string> one_step(const Files& files, const std::string& directory, std::vector<Finding>& findings) {
  if (auto folder = by_pointer(files, directory, findings)) return folder;
  if (auto save = chosen_in(files, directory, by_trainer_or_name, findings)) return save;
  const std::string inner = fmt::format("{}/{}", directory, inner_folder);
  if (files.link_target(inner) || files.type(inner) != FileType::folder) return std::nullopt;
  const auto folder = chosen_in(files, inner, by_trainer, findings);
  return folder ? std::optional(fmt::format("{}/{}", inner_folder, *folder)) : std::nullopt;
}

/// The runs that `names`, all of which begin with `prefix`, lie in.
std::vector<std::string> runs_in(const Files& files, const std::string& directory, std::size_t prefix,
                                 const std::vector<std::string_view>& names) {
  std::map<std::string, std::vector<std::string_view>> folders;
  for (const std::string_view name : names) {
    const std::size_t slash = name.find('/', prefix);
    if (slash == name.npos) return {};
    folders[std::string(name.substr(0, slash))].push_back(name);
  }
  std::vector<std::string> runs;
  for (const auto& [folder, inside] : folders) {
    std::vector<Finding> led_there;
    if (!resolve_run(files, fmt::format("{}/{}", directory, folder), led_there).empty()) {
      runs.push_back(folder);
      continue;
    }
    const std::vector<std::string> deeper = runs_in(files, directory, folder.size() + 1, inside);
    if (deeper.empty()) return {};
    runs.insert(runs.end(), deeper.begin(), deeper.end());
  }
  return runs;
}

}  // namespace

std::vector<std::string> runs_below(const Files& files, const std::string& directory,
                                    const std::vector<std::string>& names) {
  return runs_in(files, directory, 0, std::vector<std::string_view>(names.begin(), names.end()));
}

std::string resolve_run(const Files& files, const std::string& directory, std::vector<Finding>& findings) {
  std::string relative;
  std::string reached = directory;
  for (int i = 0; i < most_steps && files.type(reached) == FileType::folder; ++i) {
    const auto step = one_step(files, reached, findings);
    if (!step) break;
    relative += relative.empty() ? *step : "/" + *step;
    reached = fmt::format("{}/{}", directory, relative);
  }
  return relative;
}

}  // namespace tare
