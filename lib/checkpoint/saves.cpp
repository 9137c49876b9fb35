#include "lib/checkpoint/saves.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "lib/checkpoint/names.hpp"
#include "lib/dialect/trainer.hpp"

namespace tare {
namespace {

constexpr auto torch_endings = std::to_array<std::string_view>({".ckpt", ".pt", ".pth", ".tar"});
/// With what a save begins that is not the last one.
constexpr auto other_saves =
    std::to_array<std::string_view>({"best", "model_best", "final", "epoch", "step", "checkpoint-"});

std::string_view stem(std::string_view name) {
  return name.substr(0, name.find('.'));
}

bool is_torch_file(const std::string& name) {
  return std::ranges::find(torch_endings, extension(name)) != torch_endings.end();
}

bool is_other_save(const std::string& name) {
  return std::ranges::any_of(other_saves, [&](std::string_view word) { return name.starts_with(word); });
}

std::optional<Saves> of_last(const std::vector<std::string>& names) {
  const auto last = std::ranges::find_if(names, [](const std::string& name) { return stem(name) == "last"; });
  if (last == names.end()) return std::nullopt;
  const auto is_beside = [&](const std::string& name) {
    return name == *last || (is_other_save(name) && extension(name) == extension(*last));
  };
  if (!std::ranges::all_of(names, is_beside)) return std::nullopt;
  return Saves{*last, names.size(), "what a resume takes by its name"};
}

std::optional<Saves> of_trainer(const std::vector<std::string>& names) {
  for (const Trainer* trainer : trainers()) {
    auto saves = trainer->choose_save == nullptr ? std::nullopt : trainer->choose_save(names);
    if (saves) return saves;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Saves> saves_among(const std::vector<FileEntry>& entries) {
  std::vector<std::string> all;
  std::vector<std::string> of_torch;
  std::vector<std::string> folders;
  for (const FileEntry& entry : entries) {
    if (entry.type == FileType::folder && is_torch_file(entry.name)) folders.push_back(entry.name);
    if (entry.type != FileType::file || entry.name.front() == '.') continue;
    all.push_back(entry.name);
    if (is_torch_file(entry.name)) of_torch.push_back(entry.name);
  }
  if (all.empty() && folders.size() > 1) return of_trainer(folders);
  if (of_torch.empty()) return all.size() > 1 ? of_trainer(all) : std::nullopt;
  if (of_torch.size() == 1) return std::nullopt;
  const auto saves = of_trainer(of_torch);
  return saves ? saves : of_last(of_torch);
}

}  // namespace tare
