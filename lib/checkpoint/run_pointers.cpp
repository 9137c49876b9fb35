#include "lib/checkpoint/run_pointers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "lib/base/error.hpp"
#include "lib/checkpoint/names.hpp"
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

std::optional<std::string> text_for(const Files& files, const std::string& directory, const RunPointer& pointer) {
  const std::string file = fmt::format("{}/{}", directory, pointer.file);
  if (files.link_target(file) || files.type(file) != FileType::file) return std::nullopt;
  auto text = pointer_text(*files.open(file));
  if (!text || !text->starts_with(pointer.beginning)) return std::nullopt;
  if (pointer.beginning.empty() && text->find('\n') != text->npos) return std::nullopt;
  return text;
}

/// Those that are followed always come before those that only a configuration asks for.
std::vector<PointerRead> readings_of(const Files& files, const std::string& directory) {
  std::vector<PointerRead> readings;
  for (const Trainer* trainer : trainers()) {
    for (const RunPointer& pointer : trainer->pointers) {
      auto text = text_for(files, directory, pointer);
      if (!text) continue;
      PointerRead reading{trainer, &pointer, *std::move(text)};
      reading.target = pointer.target(reading.text);
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

/// Why nothing can be resumed from what a pointer names; nothing where something can.
std::optional<Error> problem_of(const Files& files, const std::string& directory, const PointerRead& reading) {
  constexpr const char* hint = "give the checkpoint itself";
  const std::string file = fmt::format("{}/{}", directory, reading.pointer->file);
  if (!reading.target || !is_plain_relative(*reading.target)) {
    return Error(Status::refused, fmt::format("{} names '{}', which is nothing beside it", file, reading.text), hint);
  }
  const std::string path = directory + "/" + *reading.target;
  if (const FileType type = files.type(path); type != FileType::folder && type != FileType::file) {
    return Error(Status::not_found, fmt::format("{} names {}, which is not there", file, *reading.target), hint);
  }
  if (!files.is_inside(path, directory)) {
    return Error(Status::refused, fmt::format("{} names {}, a link out of the run", file, *reading.target), hint);
  }
  return std::nullopt;
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

std::optional<std::string> by_pointer(const Files& files, const std::string& directory,
                                      std::vector<Finding>& findings) {
  const std::vector<PointerRead> readings = readings_of(files, directory);
  if (readings.empty()) return std::nullopt;
  const PointerRead& choice = chosen(files, directory, readings);
  if (const auto problem = problem_of(files, directory, choice)) throw *problem;
  findings.push_back({Severity::note, "run-directory",
                      fmt::format("a run: {} is what {} resumes from{} ({})", *choice.target,
                                  names_of(choice, readings), condition_of(choice), choice.pointer->file),
                      "", ""});
  tell_of_others(choice, readings, findings);
  return choice.target;
}

std::optional<Error> pointer_problem(const Files& files, const std::string& directory) {
  const std::vector<PointerRead> readings = readings_of(files, directory);
  if (readings.empty()) return std::nullopt;
  const PointerRead& choice = chosen(files, directory, readings);
  const bool leads_elsewhere = choice.text.find('/') != choice.text.npos;
  auto problem = leads_elsewhere ? std::nullopt : problem_of(files, directory, choice);
  return problem && problem->status == Status::not_found ? problem : std::nullopt;
}

}  // namespace tare
