#include "lib/checkpoint/run_folders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "lib/base/error.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/checkpoint/run_pointers.hpp"
#include "lib/checkpoint/several_files.hpp"
#include "lib/dialect/trainer.hpp"

namespace tare {
namespace {

/// Names that tell of no trainer.
constexpr auto folders_of_steps = std::to_array<RunFolder>({
    {RunFolder::Takes::highest, "step_#", {}, {}, FileType::folder},
    {RunFolder::Takes::highest, "step-#", {}, {}, FileType::folder},
    {RunFolder::Takes::highest, "epoch_#", {}, {}, FileType::folder},
    {RunFolder::Takes::highest, "epoch-#", {}, {}, FileType::folder},
});
/// Accelerate's too, which its files tell; of T5X, Ray and others.
constexpr auto folders_of_many = std::to_array<RunFolder>({
    {RunFolder::Takes::highest, "checkpoint_#", {}, {}, FileType::folder},
});
constexpr Trainer nobody = {.name = {}};

/// The format of which a folder has parts, without the file that they are opened by, which is written last. (Its name
/// may follow in a moment.) Null for all else.
const SeveralFiles* unfinished(const Files& files, const std::string& folder) {
  const SeveralFiles* format = nullptr;
  for (const FileEntry& entry : files.list(folder)) {
    if (format_of_whole(entry.name) != nullptr) return nullptr;
    const SeveralFiles* part_of = format_of_part(entry.name);
    if (part_of != nullptr && !part_of->parts_stand_alone) format = part_of;
  }
  return format;
}

/// The highest step that a trainer would take. `saves` are in their order.
std::string last_finished(const Files& files, const std::string& directory, const std::vector<std::string>& saves,
                          std::vector<Finding>& findings) {
  const std::vector<std::string> last_first(saves.rbegin(), saves.rend());
  for (const std::string& step : last_first) {
    if (files.type(fmt::format("{}/{}", directory, step)) == FileType::file) return step;
    const std::string path = fmt::format("{}/{}", directory, step);
    const SeveralFiles* format = unfinished(files, path);
    if (format == nullptr) return step;
    findings.push_back({Severity::warning, "incomplete-checkpoint", without_whole(path, *format), "", ""});
  }
  return saves.back();
}

/// The entries of that name, with that path inside and of that type, in their order.
std::vector<std::string> saves_of(const Files& files, const std::string& directory,
                                  const std::vector<FileEntry>& entries, std::string_view name, std::string_view inside,
                                  std::optional<FileType> type) {
  std::vector<std::string> names;
  for (const FileEntry& entry : entries) {
    if (entry.type == FileType::link || !is_named(name, entry.name)) continue;
    if (type && entry.type != *type) continue;
    const std::string path = fmt::format("{}/{}/{}", directory, entry.name, inside);
    if (inside.empty() || files.type(path) != FileType::absent) names.push_back(entry.name);
  }
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

/// What a link leads to beside it, or a file with a link's text in a copy of the run that lost its links.
std::optional<std::string> linked(const Files& files, const std::string& directory, const std::string& name) {
  const std::string path = fmt::format("{}/{}", directory, name);
  auto target = files.link_target(path);
  if (!target && files.type(path) == FileType::file) target = link_text(*files.open(path));
  if (!target || !is_plain_relative(*target)) return std::nullopt;
  const std::string reached = fmt::format("{}/{}", directory, *target);
  const bool is_there = files.type(reached) == FileType::folder || files.type(reached) == FileType::file;
  return is_there && files.is_inside(reached, directory) ? target : std::nullopt;
}

[[noreturn]] void ask(const std::string& directory, const Trainer& trainer, const std::vector<std::string>& saves) {
  throw Error(Status::refused,
              fmt::format("{}: {} saves beside each other, and {} has no rule which to resume from: {}", directory,
                          saves.size(), trainer.name, fmt::join(saves, ", ")),
              "give one of them");
}

std::string reason_of(const Trainer& trainer, const RunFolder& row) {
  switch (row.takes) {
    case RunFolder::Takes::link:
      return fmt::format("what {} resumes from (the link {})", trainer.name, row.name);
    case RunFolder::Takes::pointed:
      return fmt::format("the highest; {} resumes from what {} names, which is not there", trainer.name,
                         trainer.pointers.front().file);
    case RunFolder::Takes::highest:
      return trainer.name.empty() ? "the highest" : fmt::format("the highest, what {} resumes from", trainer.name);
    case RunFolder::Takes::file:
    case RunFolder::Takes::asked:
      return fmt::format("what {} resumes from", trainer.name);
  }
  return {};
}

void tell_of_run(const Trainer& trainer, const RunFolder& row, const std::string& save, std::size_t count,
                 std::vector<Finding>& findings) {
  findings.push_back(
      {Severity::note, "run-directory",
       fmt::format("a run of {} checkpoint{}: {} is {}", count, count == 1 ? "" : "s", save, reason_of(trainer, row)),
       "", ""});
}

std::optional<std::string> taken(const Files& files, const std::string& directory,
                                 const std::vector<FileEntry>& entries, const Trainer& trainer, const RunFolder& row,
                                 std::vector<Finding>& findings) {
  auto others = saves_of(files, directory, entries, row.beside, row.inside, {});
  if (row.takes == RunFolder::Takes::link || row.takes == RunFolder::Takes::file) std::erase(others, row.name);
  if (!row.beside.empty() && others.empty()) return std::nullopt;
  if (row.takes == RunFolder::Takes::link) {
    auto target = linked(files, directory, std::string(row.name));
    if (target) tell_of_run(trainer, row, *target, others.size(), findings);
    return target;
  }
  const auto saves =
      saves_of(files, directory, entries, row.name, row.beside.empty() ? row.inside : std::string_view(), row.type);
  if (saves.empty()) return std::nullopt;
  if (row.takes == RunFolder::Takes::asked && saves.size() > 1) ask(directory, trainer, saves);
  const bool is_highest = row.takes == RunFolder::Takes::highest || row.takes == RunFolder::Takes::pointed;
  const std::string save = is_highest ? last_finished(files, directory, saves, findings) : saves.front();
  std::erase_if(others, [&](const std::string& name) { return std::ranges::find(saves, name) != saves.end(); });
  tell_of_run(trainer, row, save, saves.size() + others.size(), findings);
  return save;
}

struct Row {
  const Trainer* trainer;
  const RunFolder* folder;
};

/// Those that ask for something beside or inside first, those of nobody last.
const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> found;
    for (const Trainer* trainer : trainers()) {
      for (const RunFolder& folder : trainer->runs) found.push_back({trainer, &folder});
    }
    std::stable_partition(found.begin(), found.end(),
                          [](const Row& row) { return !row.folder->beside.empty() || !row.folder->inside.empty(); });
    for (const RunFolder& folder : folders_of_steps) found.push_back({&nobody, &folder});
    for (const RunFolder& folder : folders_of_many) found.push_back({&nobody, &folder});
    return found;
  }();
  return all;
}

}  // namespace

std::optional<std::string> by_trainer(const Files& files, const std::string& directory,
                                      const std::vector<FileEntry>& entries, std::vector<Finding>& findings) {
  for (const auto& [trainer, folder] : rows()) {
    if (auto save = taken(files, directory, entries, *trainer, *folder, findings)) return save;
  }
  return std::nullopt;
}

bool has_nobodys_name(std::string_view folder) {
  return std::ranges::any_of(folders_of_steps, [&](const RunFolder& row) { return is_named(row.name, folder); });
}

}  // namespace tare
