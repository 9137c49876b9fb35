#include "tools/changed_once.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "lib/base/error.hpp"
#include "lib/base/files.hpp"

using namespace tare;

namespace {

/// Without links and detours; of a store's objects the name as it is.
std::string one_name(const std::string& path) {
  if (path.empty() || is_url(path)) return path;
  std::error_code unknown;
  const std::filesystem::path whole = std::filesystem::canonical(path, unknown);
  return unknown ? path : whole.string();
}

const std::string* found(const std::map<std::string, std::string>& by_name, const std::string& name) {
  const auto known = by_name.find(name);
  return known == by_name.end() ? nullptr : &known->second;
}

}  // namespace

ChangedPlaces places_of(const PlannedChange& planned) {
  ChangedPlaces places{one_name(planned.checkpoint.resolved), {}};
  for (const FileEdit& edit : planned.plan.files) places.files.push_back(one_name(edit.path));
  return places;
}

const std::string* ChangedOnce::earlier(const std::string& path, const ChangedPlaces& places) const {
  if (places.checkpoint.empty()) return nullptr;
  if (const std::string* same = found(checkpoints_, places.checkpoint)) return same;
  const auto is_changed = [this](const std::string& file) { return files_.contains(file); };
  const auto first = std::ranges::find_if(places.files, is_changed);
  if (first == places.files.end()) return nullptr;
  const std::string* by = found(files_, *first);
  if (std::ranges::all_of(places.files, is_changed)) return by;
  throw Error(Status::refused, fmt::format("{}: {} was changed already, with {}", path, *first, *by),
              "what was planned for the others does not count on that: change them with a command of their own");
}

void ChangedOnce::add(const std::string& path, const ChangedPlaces& places) {
  if (places.checkpoint.empty()) return;
  checkpoints_.emplace(places.checkpoint, path);
  for (const std::string& file : places.files) files_.emplace(file, path);
}
