#include "lib/checkpoint/run_pointers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "lib/base/error.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/checkpoint/resolve.hpp"
#include "lib/dialect/trainer.hpp"

namespace tare {
namespace {

constexpr std::uint64_t longest_pointer = 4096;

/// A pointer whose file is there, as one trainer reads it.
struct PointerRead {
  const Trainer* trainer;
  const RunPointer* pointer;
  std::string text;
  std::optional<std::string> target = {};
};

/// Short, and without blanks around it; nothing for any other file.
std::optional<std::string> short_text(const Source& file) {
  if (file.size() > longest_pointer) return std::nullopt;
  const Bytes bytes = file.read({0, file.size()});
  std::string_view text = as_text(bytes);
  constexpr std::string_view blank = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(blank), text.size()));
  text.remove_suffix(text.size() - std::min(text.find_last_not_of(blank) + 1, text.size()));
  const auto is_of_bytes = [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\0'; };
  return std::ranges::any_of(text, is_of_bytes) ? std::nullopt : std::optional(std::string(text));
}

/// What a pointer holds, of which nothing can be resumed by it, too: a crash leaves it empty, or zeros in it.
std::optional<std::string> text_for(const Files& files, const std::string& directory, const RunPointer& pointer) {
  const std::string file = fmt::format("{}/{}", directory, pointer.file);
  if (files.type(file) != FileType::file) return std::nullopt;
  const auto source = files.open(file);
  auto text = short_text(*source);
  if (!text || !text->starts_with(pointer.beginning)) return std::nullopt;
  if (files.link_target(file) && !files.is_inside(file, directory)) {
    throw LinkNotFollowed(file, fmt::format("{} is a link out of the run, which is not followed", file));
  }
  return text;
}

bool is_one_line(std::string_view text) {
  return text.find_first_of(std::string_view("\n\0", 2)) == text.npos;
}

/// Those that are followed always come before those that only a configuration asks for.
std::vector<PointerRead> readings_of(const Files& files, const std::string& directory) {
  std::vector<PointerRead> readings;
  for (const Trainer* trainer : trainers()) {
    for (const RunPointer& pointer : trainer->pointers) {
      auto text = text_for(files, directory, pointer);
      if (!text) continue;
      PointerRead reading{trainer, &pointer, *std::move(text)};
      const bool is_name = !reading.text.empty() && is_one_line(reading.text);
      if (is_name || !pointer.beginning.empty()) reading.target = pointer.target(reading.text);
      readings.push_back(std::move(reading));
    }
  }
  std::stable_partition(readings.begin(), readings.end(),
                        [](const PointerRead& reading) { return reading.pointer->when.empty(); });
  return readings;
}

/// Of those that call a file the same: the first whose target is there, else the first.
const PointerRead& chosen(const Files& files, const std::string& directory, const std::vector<PointerRead>& readings) {
  const PointerRead& first = readings.front();
  const auto leads_somewhere = [&](const PointerRead& reading) {
    return reading.pointer->file == first.pointer->file && reading.target &&
           files.type(directory + "/" + *reading.target) != FileType::absent;
  };
  const auto found = std::ranges::find_if(readings, leads_somewhere);
  return found == readings.end() ? first : *found;
}

/// "detectron2 or mmengine": all that mean the same.
std::string names_of(const PointerRead& choice, const std::vector<PointerRead>& readings) {
  std::set<std::string_view> names;
  for (const PointerRead& reading : readings) {
    const bool is_same = reading.pointer->file == choice.pointer->file && reading.target == choice.target;
    if (is_same) names.insert(reading.trainer->name);
  }
  return fmt::format("{}", fmt::join(names, " or "));
}

/// What stands in a pointer that names nothing.
std::string without_name(std::string_view text) {
  if (text.empty()) return "is empty";
  if (text.find('\0') != text.npos) return "has zero bytes in it, as a crash or a full disk leaves them";
  return fmt::format("names '{}', which is nothing beside it", text);
}

/// Why nothing can be resumed from what a pointer names; nothing where something can.
std::optional<Error> problem_of(const Files& files, const std::string& directory, const PointerRead& reading) {
  constexpr const char* hint = "give the checkpoint itself";
  const std::string file = fmt::format("{}/{}", directory, reading.pointer->file);
  if (!reading.target || !is_plain_relative(*reading.target)) {
    return Error(Status::refused, fmt::format("{} {}", file, without_name(reading.text)), hint);
  }
  const std::string path = directory + "/" + *reading.target;
  if (const FileType type = files.type(path); type != FileType::folder && type != FileType::file) {
    return Error(Status::not_found, fmt::format("{} names {}, which is not there", file, *reading.target), hint);
  }
  return std::nullopt;
}

void refuse_link(const Files& files, const std::string& directory, const PointerRead& reading) {
  const std::string path = directory + "/" + *reading.target;
  if (files.is_inside(path, directory)) return;
  throw LinkNotFollowed(
      path, fmt::format("{}/{} names {}, a link out of the run", directory, reading.pointer->file, *reading.target));
}

/// What a trainer opens by the path that it was saved under.
struct SavedPath {
  std::string_view trainer;
  std::string path;
};

std::optional<SavedPath> saved_path(const PointerRead& choice, const std::vector<PointerRead>& readings) {
  for (const PointerRead& reading : readings) {
    const bool is_same = reading.pointer->file == choice.pointer->file && reading.pointer->elsewhere != nullptr;
    auto path = is_same ? reading.pointer->elsewhere(reading.text) : std::nullopt;
    if (path) return SavedPath{reading.trainer->name, *std::move(path)};
  }
  return std::nullopt;
}

/// The same, where that is no file of this run.
std::optional<SavedPath> elsewhere(const Files& files, const std::string& directory, const PointerRead& choice,
                                   const std::vector<PointerRead>& readings) {
  auto saved = saved_path(choice, readings);
  return saved && !files.is_inside(saved->path, directory) ? saved : std::nullopt;
}

/// By another name: a folder may be mounted twice.
bool is_same_file(const std::string& path, const std::string& other) {
  std::error_code error;
  return std::filesystem::equivalent(path, other, error) && !error;
}

/// A copy of a run, whose original is there: what is edited in it the trainer never sees.
std::optional<Error> copy_problem(const Files& files, const std::string& directory, const PointerRead& choice,
                                  const SavedPath& other) {
  const std::string path = fmt::format("{}/{}", directory, choice.target.value_or(""));
  if (is_url(directory) || files.type(other.path) == FileType::absent || is_same_file(path, other.path)) {
    return std::nullopt;
  }
  return Error(Status::refused,
               fmt::format("{}/{} names {}: {} resumes from that file, and not from {} beside it", directory,
                           choice.pointer->file, other.path, other.trainer, choice.target.value_or("another")),
               "give the one of them that is meant");
}

/// Whether a framework would open a path elsewhere, of which the last part alone, or nothing, is looked for here.
bool leads_elsewhere(const PointerRead& reading) {
  if (!reading.target || reading.text.find('/') == reading.text.npos) return false;
  return reading.target->starts_with('/') || reading.target->find('/') == reading.target->npos;
}

std::string condition_of(const PointerRead& reading) {
  return reading.pointer->when.empty() ? "" : fmt::format(" {}", reading.pointer->when);
}

/// Which of the two counts is for the trainer's configuration to say.
void tell_of_others(const PointerRead& choice, const std::vector<PointerRead>& readings,
                    std::vector<Finding>& findings) {
  for (const PointerRead& reading : readings) {
    if (reading.pointer->when.empty() || reading.pointer == choice.pointer) continue;
    findings.push_back({Severity::note, "run-directory",
                        fmt::format("{} names {}:{}, {} resumes from that, and its own copy of the scaler",
                                    reading.pointer->file, reading.text, condition_of(reading), reading.trainer->name),
                        "", ""});
  }
}

}  // namespace

std::optional<std::string> link_text(const Source& file) {
  auto text = short_text(file);
  return text && is_one_line(*text) ? text : std::nullopt;
}

std::optional<std::string> by_pointer(const Files& files, const std::string& directory,
                                      std::vector<Finding>& findings) {
  const std::vector<PointerRead> readings = readings_of(files, directory);
  if (readings.empty()) return std::nullopt;
  const PointerRead& choice = chosen(files, directory, readings);
  if (const auto problem = problem_of(files, directory, choice)) throw *problem;
  refuse_link(files, directory, choice);
  const auto other = elsewhere(files, directory, choice, readings);
  if (const auto problem = other ? copy_problem(files, directory, choice, *other) : std::nullopt) throw *problem;
  findings.push_back(
      {Severity::note, "run-directory",
       fmt::format("a run: {} {} what {} resumes from{} ({})", *choice.target, other ? "has the name of" : "is",
                   names_of(choice, readings), condition_of(choice), choice.pointer->file),
       "", ""});
  if (other) {
    findings.push_back({Severity::warning, "run-directory",
                        fmt::format("{} names {}, which is not there: {} looks for it by that path alone",
                                    choice.pointer->file, other->path, other->trainer),
                        "", ""});
  }
  tell_of_others(choice, readings, findings);
  return choice.target;
}

std::optional<Error> pointer_problem(const Files& files, const std::string& directory) {
  const std::vector<PointerRead> readings = readings_of(files, directory);
  if (readings.empty()) return std::nullopt;
  const PointerRead& choice = chosen(files, directory, readings);
  if (const auto other = elsewhere(files, directory, choice, readings)) {
    if (auto problem = copy_problem(files, directory, choice, *other)) return problem;
  }
  const bool is_opened_elsewhere = leads_elsewhere(choice) && !saved_path(choice, readings);
  return is_opened_elsewhere ? std::nullopt : problem_of(files, directory, choice);
}

}  // namespace tare
