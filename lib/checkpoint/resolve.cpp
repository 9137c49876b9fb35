#include "lib/checkpoint/resolve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/source.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/checkpoint/saves.hpp"
#include "lib/checkpoint/several_files.hpp"
#include "lib/dialect/trainer.hpp"

namespace tare {
namespace {

/// A text file that names the checkpoint to resume from.
struct Pointer {
  std::string_view file;
  std::string_view framework;
  /// The folder or file that its text means; nothing for a text that the framework would not take.
  std::optional<std::string> (*target)(std::string_view text);
  /// How its text begins, which may have several lines then; empty: anyhow, in one line.
  std::string_view beginning = {};
};

std::optional<std::string> as_it_is(std::string_view text) {
  return std::string(text);
}

std::optional<unsigned long long> number_of(std::string_view text) {
  unsigned long long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::string> megatron_iteration(std::string_view text) {
  if (text == "release") return "release";
  const auto iteration = number_of(text);
  return iteration ? std::optional(fmt::format("iter_{:07}", *iteration)) : std::nullopt;
}

std::optional<std::string> mindformers_iteration(std::string_view text) {
  const auto iteration = number_of(text);
  return iteration ? std::optional(fmt::format("iteration_{:08}", *iteration)) : std::nullopt;
}

/// The path that it was saved under, of which a folder that moved keeps the last part.
std::optional<std::string> last_part(std::string_view text) {
  return std::string(file_name(text));
}

/// The first line of a CheckpointState, in protobuf's text format: model_checkpoint_path: "ckpt-7". Absolute paths are
/// those that it was saved under.
std::optional<std::string> bundle_index(std::string_view text) {
  const std::size_t begin = text.find('"') + 1;
  const std::size_t end = text.find('"', begin);
  if (begin == 0 || end == text.npos) return std::nullopt;
  const std::string_view path = text.substr(begin, end - begin);
  const bool is_absolute = path.starts_with('/') || path.find("://") != path.npos;
  return std::string(is_absolute ? file_name(path) : path) + ".index";
}

/// Beside `latest`: which of the two DeepSpeed follows is for its configuration to say.
constexpr std::string_view universal_pointer = "latest_universal";

/// Where two frameworks call it the same, the one whose target is there counts, else the last.
constexpr auto pointers = std::to_array<Pointer>({
    {"latest", "DeepSpeed", as_it_is},
    {"latest_checkpointed_iteration.txt", "mindformers", mindformers_iteration},
    {"latest_checkpointed_iteration.txt", "Megatron", megatron_iteration},
    {"last_checkpoint", "mmengine or detectron2", last_part},
    {universal_pointer, "DeepSpeed with checkpoint.load_universal", as_it_is},
    {"checkpoint", "TensorFlow", bundle_index, "model_checkpoint_path:"},
});

/// Folders (or files) of which the one with the highest number is resumed from.
struct Numbered {
  std::string_view prefix;
  std::string_view framework;    ///< empty: no one framework's
  std::string_view inside = {};  ///< a file that each has; empty: any
  FileType type = FileType::folder;
};

constexpr auto numbered = std::to_array<Numbered>({
    {"checkpoint-", "the Hugging Face Trainer"},
    {"checkpoint_", "accelerate"},
    {"global_step", "DeepSpeed"},
    {"iter_", "Megatron"},
    {"iteration_", "mindformers"},
    {"step_", ""},
    {"step-", ""},
    {"epoch_", ""},
    {"epoch-", ""},
    {"", "Orbax", "_CHECKPOINT_METADATA"},
    {"checkpoint_", "flax", "", FileType::file},
});

/// Where accelerate puts its numbered folders, below a project's own.
constexpr std::string_view inner_folder = "checkpoints";
/// A run of a run (a Trainer's folder with a DeepSpeed pointer in it), not more.
constexpr int most_steps = 4;
constexpr std::uint64_t longest_pointer = 4096;

/// Nothing for a file that is no short text: a checkpoint may be called "latest" too.
std::optional<std::string> pointer_text(const Source& file) {
  if (file.size() > longest_pointer) return std::nullopt;
  const Bytes bytes = file.read({0, file.size()});
  std::string_view text = as_text(bytes);
  constexpr std::string_view blank = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(blank), text.size()));
  text.remove_suffix(text.size() - std::min(text.find_last_not_of(blank) + 1, text.size()));
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\n'; };
  if (std::any_of(text.begin(), text.end(), is_control)) return std::nullopt;
  return std::string(text);
}

void tell_of_universal(const Files& files, const std::string& directory, std::vector<Finding>& findings) {
  const std::string file = fmt::format("{}/{}", directory, universal_pointer);
  if (files.link_target(file) || files.type(file) != FileType::file) return;
  const auto text = pointer_text(*files.open(file));
  if (!text) return;
  findings.push_back(
      {Severity::note, "run-directory",
       fmt::format("{} names {}: where checkpoint.load_universal is set, DeepSpeed resumes from that, and "
                   "its own copy of the scaler",
                   universal_pointer, *text),
       "", ""});
}

std::optional<std::string> by_pointer(const Files& files, const std::string& directory,
                                      std::vector<Finding>& findings) {
  for (const Pointer& pointer : pointers) {
    const std::string file = fmt::format("{}/{}", directory, pointer.file);
    if (files.link_target(file) || files.type(file) != FileType::file) continue;
    const auto text = pointer_text(*files.open(file));
    if (!text || !text->starts_with(pointer.beginning)) continue;
    if (pointer.beginning.empty() && text->find('\n') != text->npos) continue;
    auto target = pointer.target(*text);
    const bool has_twin = &pointer != &pointers.back() && (&pointer)[1].file == pointer.file;
    if (has_twin && (!target || files.type(directory + "/" + *target) == FileType::absent)) continue;
    constexpr const char* hint = "give the checkpoint itself";
    if (!target || !is_plain_relative(*target)) {
      throw Error(Status::refused, fmt::format("{} names '{}', which is nothing beside it", file, *text), hint);
    }
    const std::string path = directory + "/" + *target;
    if (const FileType type = files.type(path); type != FileType::folder && type != FileType::file) {
      throw Error(Status::not_found, fmt::format("{} names {}, which is not there", file, *target), hint);
    }
    if (!files.is_inside(path, directory)) {
      throw Error(Status::refused, fmt::format("{} names {}, a link out of the run", file, *target), hint);
    }
    findings.push_back({Severity::note, "run-directory",
                        fmt::format("a run: {} is what {} resumes from ({})", *target, pointer.framework, pointer.file),
                        "", ""});
    if (pointer.file != universal_pointer) tell_of_universal(files, directory, findings);
    return target;
  }
  return std::nullopt;
}

bool is_numbered(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) && name.size() > prefix.size() &&
         name.find_first_not_of("0123456789", prefix.size()) == std::string_view::npos;
}

bool has_inside(const Files& files, const std::string& step, const Numbered& row) {
  return row.inside.empty() || files.type(fmt::format("{}/{}", step, row.inside)) == FileType::file;
}

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

/// The highest step that a trainer would take. `steps` are in their order.
std::string last_finished(const Files& files, const std::string& directory, const std::vector<std::string>& steps,
                          std::vector<Finding>& findings) {
  const std::vector<std::string> last_first(steps.rbegin(), steps.rend());
  for (const std::string& step : last_first) {
    if (files.type(fmt::format("{}/{}", directory, step)) == FileType::file) return step;
    const SeveralFiles* format = unfinished(files, fmt::format("{}/{}", directory, step));
    if (format == nullptr) return step;
    findings.push_back({Severity::warning, "incomplete-checkpoint",
                        fmt::format("{} has {} and no {}: its save never finished, or goes on", step, format->parts_are,
                                    format->whole_is),
                        "", ""});
  }
  return steps.back();
}

std::optional<std::string> by_number(const Files& files, const std::string& directory, std::vector<Finding>& findings) {
  const std::vector<FileEntry> entries = files.list(directory);
  for (const Numbered& row : numbered) {
    std::vector<std::string> steps;
    for (const auto& [name, type] : entries) {
      if (type == row.type && is_numbered(name, row.prefix) &&
          has_inside(files, fmt::format("{}/{}", directory, name), row)) {
        steps.push_back(name);
      }
    }
    if (steps.empty()) continue;
    std::sort(steps.begin(), steps.end(), natural_less);
    const std::string highest = last_finished(files, directory, steps, findings);
    const std::string whose = row.framework.empty() ? "" : fmt::format(", what {} resumes from", row.framework);
    findings.push_back({Severity::note, "run-directory",
                        fmt::format("a run of {} checkpoint{}: {} is the highest{}", steps.size(),
                                    steps.size() == 1 ? "" : "s", highest, whose),
                        "", ""});
    return highest;
  }
  return std::nullopt;
}

// ---- as a trainer's own table says

/// The entries that are a save of that row's, in their order.
std::vector<std::string> saves_of(const Files& files, const std::string& directory,
                                  const std::vector<FileEntry>& entries, std::string_view name,
                                  std::string_view inside) {
  std::vector<std::string> names;
  for (const FileEntry& entry : entries) {
    if (entry.type == FileType::link || !is_named(name, entry.name)) continue;
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
  if (!target && files.type(path) == FileType::file) target = pointer_text(*files.open(path));
  if (!target || !is_plain_relative(*target)) return std::nullopt;
  const std::string reached = fmt::format("{}/{}", directory, *target);
  const bool is_there = files.type(reached) == FileType::folder || files.type(reached) == FileType::file;
  return is_there && files.is_inside(reached, directory) ? target : std::nullopt;
}

void tell_of_run(std::string message, std::vector<Finding>& findings) {
  findings.push_back({Severity::note, "run-directory", std::move(message), "", ""});
}

[[noreturn]] void ask(const std::string& directory, const Trainer& trainer, const std::vector<std::string>& saves) {
  throw Error(Status::refused,
              fmt::format("{}: {} saves beside each other, and {} has no rule which to resume from: {}", directory,
                          saves.size(), trainer.name, fmt::join(saves, ", ")),
              "give one of them");
}

std::optional<std::string> taken(const Files& files, const std::string& directory,
                                 const std::vector<FileEntry>& entries, const Trainer& trainer, const RunFolder& row,
                                 std::vector<Finding>& findings) {
  const auto others = saves_of(files, directory, entries, row.beside, row.inside);
  if (!row.beside.empty() && others.empty()) return std::nullopt;
  if (row.takes == RunFolder::Takes::link) {
    const auto target = linked(files, directory, std::string(row.name));
    if (target) {
      tell_of_run(fmt::format("a run of {} checkpoint{}: {} is what {} resumes from (the link {})", others.size(),
                              others.size() == 1 ? "" : "s", *target, trainer.name, row.name),
                  findings);
    }
    return target;
  }
  auto saves = saves_of(files, directory, entries, row.name, row.beside.empty() ? row.inside : std::string_view());
  if (saves.empty()) return std::nullopt;
  if (row.takes == RunFolder::Takes::asked && saves.size() > 1) ask(directory, trainer, saves);
  const std::string save =
      row.takes == RunFolder::Takes::highest ? last_finished(files, directory, saves, findings) : saves.front();
  const std::size_t count = saves.size() + others.size();
  tell_of_run(fmt::format("a run of {} checkpoint{}: {} is what {} resumes from", count, count == 1 ? "" : "s", save,
                          trainer.name),
              findings);
  return save;
}

std::optional<std::string> by_trainer(const Files& files, const std::string& directory,
                                      std::vector<Finding>& findings) {
  const std::vector<FileEntry> entries = files.list(directory);
  for (const Trainer* trainer : trainers()) {
    for (const RunFolder& row : trainer->runs) {
      if (auto save = taken(files, directory, entries, *trainer, row, findings)) return save;
    }
  }
  return std::nullopt;
}

std::optional<std::string> by_name(const Files& files, const std::string& directory, std::vector<Finding>& findings) {
  const auto saves = saves_among(files.list(directory));
  if (!saves) return std::nullopt;
  findings.push_back({Severity::note, "run-directory",
                      fmt::format("a run of {} checkpoints: {} is {}", saves->count, saves->last, saves->why), "", ""});
  return saves->last;
}

std::optional<std::string> one_step(const Files& files, const std::string& directory, std::vector<Finding>& findings) {
  if (auto folder = by_pointer(files, directory, findings)) return folder;
  if (auto save = by_trainer(files, directory, findings)) return save;
  if (auto folder = by_number(files, directory, findings)) return folder;
  if (auto file = by_name(files, directory, findings)) return file;
  const std::string inner = fmt::format("{}/{}", directory, inner_folder);
  if (files.link_target(inner) || files.type(inner) != FileType::folder) return std::nullopt;
  auto folder = by_trainer(files, inner, findings);
  if (!folder) folder = by_number(files, inner, findings);
  return folder ? std::optional(fmt::format("{}/{}", inner_folder, *folder)) : std::nullopt;
}

using Names = std::vector<std::string_view>;

/// The runs that `names`, all of which begin with `prefix`, lie in.
std::vector<std::string> runs_in(const Files& files, const std::string& directory, std::size_t prefix,
                                 const Names& names) {
  std::map<std::string, Names> folders;
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
  return runs_in(files, directory, 0, Names(names.begin(), names.end()));
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
