// Files that are texts: a run's folder without a disk.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/files.hpp"
#include "lib/trace/trace.hpp"

class MemoryFiles final : public tare::Files {
 public:
  explicit MemoryFiles(std::map<std::string, std::string> texts) : texts_(std::move(texts)) {}

  [[nodiscard]] tare::FileType type(const std::string& path) const override {
    if (texts_.count(path) != 0) return tare::FileType::file;
    for (const auto& [name, text] : texts_) {
      if (name.starts_with(path + "/")) return tare::FileType::folder;
    }
    return tare::FileType::absent;
  }
  [[nodiscard]] std::vector<tare::FileEntry> list(const std::string& folder) const override {
    std::map<std::string, tare::FileType> found;
    for (const auto& [name, text] : texts_) {
      if (!name.starts_with(folder + "/")) continue;
      const std::string rest = name.substr(folder.size() + 1);
      const std::size_t slash = rest.find('/');
      found[rest.substr(0, slash)] = slash == rest.npos ? tare::FileType::file : tare::FileType::folder;
    }
    std::vector<tare::FileEntry> entries;
    for (const auto& [name, type] : found) entries.push_back({name, type});
    return entries;
  }
  [[nodiscard]] std::shared_ptr<const tare::Source> open(const std::string& path) const override {
    const auto found = texts_.find(path);
    if (found == texts_.end()) throw tare::Error(tare::Status::not_found, path + ": not there");
    const auto bytes = tare::as_bytes(found->second);
    return std::make_shared<tare::MemorySource>(path, tare::Bytes(bytes.begin(), bytes.end()));
  }

 private:
  std::map<std::string, std::string> texts_;
};

/// The trace of a run that left those files, all in the folder "run".
inline tare::Trace trace_of(std::map<std::string, std::string> texts, const std::string& tag = {}) {
  std::map<std::string, std::string> placed;
  for (auto& [name, text] : texts) placed["run/" + name] = std::move(text);
  const MemoryFiles files(std::move(placed));
  const std::string path = "run";
  return tare::read_trace(std::span(&path, 1), {.tag = tag, .files = &files, .standard_input = {}});
}

inline tare::Trace trace_of_log(const std::string& text) {
  return trace_of({{"log.txt", text}});
}

inline std::vector<tare::TraceStep> steps_of(const tare::Trace& trace) {
  std::vector<tare::TraceStep> steps;
  for (const tare::TraceStep& step : trace.steps) steps.push_back(step);
  return steps;
}
