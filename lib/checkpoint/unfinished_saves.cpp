#include "lib/checkpoint/unfinished_saves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "lib/dialect/trainer.hpp"

namespace tare {
namespace {

std::string marker_of(std::string_view save, std::string_view marker) {
  constexpr std::string_view ending = ".ckpt";
  if (save.ends_with(ending)) save.remove_suffix(ending.size());
  return fmt::format("{}{}", save, marker);
}

void add_marked_by(const Trainer& trainer, const std::string& folder, const std::vector<FileEntry>& entries,
                   std::vector<UnfinishedSave>& found) {
  std::set<std::string_view> markers;
  for (const FileEntry& entry : entries) {
    if (entry.type == FileType::file && entry.name.ends_with(trainer.unfinished)) markers.insert(entry.name);
  }
  if (markers.empty()) return;
  for (const FileEntry& entry : entries) {
    const std::string marker = marker_of(entry.name, trainer.unfinished);
    if (!markers.contains(marker)) continue;
    found.push_back(
        {entry.name,
         {Severity::warning, "incomplete-checkpoint",
          fmt::format("{}/{}: its save never finished, or goes on, as {} beside it tells: {} passes over it", folder,
                      entry.name, marker, trainer.name),
          "", ""}});
  }
}

}  // namespace

std::vector<UnfinishedSave> unfinished_saves(const std::string& folder, const std::vector<FileEntry>& entries) {
  std::vector<UnfinishedSave> found;
  for (const Trainer* trainer : trainers()) {
    if (!trainer->unfinished.empty()) add_marked_by(*trainer, folder, entries, found);
  }
  return found;
}

void leave_out(const std::vector<UnfinishedSave>& unfinished, std::vector<FileEntry>& entries) {
  std::erase_if(entries, [&](const FileEntry& entry) {
    return std::ranges::find(unfinished, entry.name, &UnfinishedSave::name) != unfinished.end();
  });
}

}  // namespace tare
