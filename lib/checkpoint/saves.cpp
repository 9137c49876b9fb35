#include "lib/checkpoint/saves.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "lib/checkpoint/names.hpp"
#include "lib/dialect/rank_name.hpp"

namespace tare {
namespace {

using Names = std::vector<std::string>;

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

/// The number behind `key` in "epoch=1-step=20.ckpt".
std::optional<std::uint64_t> number_behind(std::string_view name, std::string_view key) {
  const std::size_t at = name.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const char* const begin = name.data() + at + key.size();
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), number);
  return error == std::errc() && end != begin ? std::optional(number) : std::nullopt;
}

/// The name with the highest number behind `key`; nothing where one has none, or the highest stands in two.
std::optional<std::string> highest(const Names& names, std::string_view key) {
  const std::string* found = nullptr;
  std::uint64_t most = 0;
  bool is_shared = false;
  for (const std::string& name : names) {
    const auto number = number_behind(name, key);
    if (!number) return std::nullopt;
    is_shared = found != nullptr && (*number == most || (is_shared && *number < most));
    if (found != nullptr && *number <= most) continue;
    found = &name;
    most = *number;
  }
  return found == nullptr || is_shared ? std::nullopt : std::optional(*found);
}

bool is_lightning(const std::string& name) {
  return extension(name) == ".ckpt" && (number_behind(name, "epoch=") || number_behind(name, "step="));
}

std::optional<Saves> of_lightning(const Names& names) {
  const auto is_last = [](const std::string& name) { return name == "last.ckpt"; };
  const auto last = std::ranges::find_if(names, is_last);
  Names others;
  std::ranges::remove_copy_if(names, std::back_inserter(others), is_last);
  if (others.empty() || !std::ranges::all_of(others, is_lightning)) return std::nullopt;
  if (last != names.end()) return Saves{*last, names.size(), "what Lightning's ckpt_path=\"last\" loads"};
  for (const std::string_view key : {"step=", "epoch="}) {
    if (const auto name = highest(others, key)) return Saves{*name, names.size(), "the highest"};
  }
  return std::nullopt;
}

std::optional<Saves> of_last(const Names& names) {
  const auto last = std::ranges::find_if(names, [](const std::string& name) { return stem(name) == "last"; });
  if (last == names.end()) return std::nullopt;
  const auto is_beside = [&](const std::string& name) {
    return name == *last || (is_other_save(name) && extension(name) == extension(*last));
  };
  if (!std::ranges::all_of(names, is_beside)) return std::nullopt;
  return Saves{*last, names.size(), "what a resume takes by its name"};
}

/// flax.training.checkpoints.save_checkpoint(prefix=...): "model_6", without an ending.
std::optional<Saves> of_prefix(const Names& names) {
  const std::string_view first = names.front();
  const std::string_view prefix = first.substr(0, first.find_last_not_of("0123456789") + 1);
  const auto is_numbered = [&](const std::string& name) {
    return name.size() > prefix.size() && name.starts_with(prefix) &&
           name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
  };
  if (!prefix.ends_with('_') || rank_group(first) || !std::ranges::all_of(names, is_numbered)) return std::nullopt;
  const auto name = highest(names, prefix);
  return name ? std::optional(Saves{*name, names.size(), "the highest, what flax resumes from"}) : std::nullopt;
}

}  // namespace

std::optional<Saves> saves_among(const std::vector<FileEntry>& entries) {
  Names all;
  Names of_torch;
  for (const FileEntry& entry : entries) {
    if (entry.type != FileType::file || entry.name.front() == '.') continue;
    all.push_back(entry.name);
    if (is_torch_file(entry.name)) of_torch.push_back(entry.name);
  }
  if (of_torch.size() > 1) {
    const auto saves = of_lightning(of_torch);
    return saves ? saves : of_last(of_torch);
  }
  return all.size() > 1 && of_torch.empty() ? of_prefix(all) : std::nullopt;
}

}  // namespace tare
