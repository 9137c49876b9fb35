#include "lib/edit/fp8_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "lib/base/error.hpp"
#include "lib/base/glob.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/checkpoint/layer_files.hpp"
#include "lib/checkpoint/reopened.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/edit/fp8_extra_state.hpp"

namespace tare {
namespace {

bool matches(const std::vector<std::string>& names, const std::optional<std::string>& layer) {
  return !layer || std::ranges::any_of(names, [&](const std::string& name) { return glob_matches(*layer, name); });
}

const char* done_to(const PlaceFate& fate) {
  if (std::holds_alternative<Emptied>(fate)) return " stripped";
  return std::holds_alternative<Removed>(fate) ? " removed" : " filled";
}

NodeValue value_for(const PlaceFate& fate, const UnscaledModule& place, const Tree& tree,
                    const std::optional<TeRelease>& release) {
  if (std::holds_alternative<Removed>(fate)) return Removal();
  if (std::holds_alternative<Emptied>(fate)) return emptied(tree, place.holder, release);
  ExtraState state = std::get<ExtraState>(fate);
  state.is_grouped |= place.is_grouped;
  return filled(place, tree, state, release.value_or(release_for(place)));
}

}  // namespace

std::vector<PlaceWork> places_to_remove(const Checkpoint& checkpoint, const std::optional<std::string>& layer) {
  std::vector<PlaceWork> places;
  const LayerNames names(checkpoint);
  for (const std::size_t file : whole_files(checkpoint)) {
    if (checkpoint.files[file].format.empty()) continue;
    const Reopened opened(checkpoint, file);
    for (UnscaledModule& place : modules_without_scales(opened.container().tree())) {
      const bool is_meant = !layer || glob_matches(*layer, place.path) || matches(names.of(file, place.path), layer);
      if (is_meant) places.push_back({file, std::move(place.path), std::move(place.recipe), place.is_operation});
    }
  }
  return places;
}

std::vector<PlaceWork> places_to_empty(const Checkpoint& checkpoint, const std::optional<std::string>& layer) {
  std::vector<PlaceWork> places = places_to_remove(checkpoint, layer);
  std::erase_if(places, [](const PlaceWork& place) { return place.recipe.empty(); });
  for (PlaceWork& place : places) place.fate = Emptied();
  return places;
}

std::vector<PlaceWork> places_to_fill(const Checkpoint& checkpoint, const Fp8Set& set,
                                      const std::optional<std::string>& layer) {
  std::vector<SavedLayer> wanted = layers_of(set);
  std::erase_if(wanted, [&](const SavedLayer& saved) { return !matches({saved.name}, layer); });
  std::unordered_map<std::string_view, const SavedLayer*, KeyedHash> by_name;
  for (const SavedLayer& saved : wanted) by_name.emplace(saved.name, &saved);
  std::set<const SavedLayer*> placed;
  const LayerNames names(checkpoint);
  std::vector<PlaceWork> places;
  for (PlaceWork& place : places_to_remove(checkpoint, std::nullopt)) {
    if (place.is_operation) continue;
    auto saved = by_name.end();
    for (const std::string& name : names.of(place.file, place.path)) {
      if (saved == by_name.end()) saved = by_name.find(name);
    }
    if (saved == by_name.end()) continue;
    place.fate = extra_state_of(set, *saved->second);
    placed.insert(saved->second);
    places.push_back(std::move(place));
  }
  std::vector<std::string> missing;
  for (const SavedLayer& saved : wanted) {
    if (!placed.contains(&saved)) missing.push_back(saved.name);
  }
  if (missing.empty() && !wanted.empty()) return places;
  throw Error(Status::refused,
              fmt::format("{}: has no empty place for '{}'{}", checkpoint.resolved,
                          missing.empty() ? layer.value_or("") : missing.front(),
                          missing.size() > 1 ? fmt::format(" and {} other layers", missing.size() - 1) : ""),
              "a place is a key ._extra_state whose value is None, an empty tensor or a recipe without scales; state "
              "that is there is edited, or stripped first; --layer chooses some layers of the saved state");
}

std::vector<NodeChange> changes_of_places(std::span<const PlaceWork> places, const Tree& tree,
                                          const std::optional<TeRelease>& release) {
  const std::vector<UnscaledModule> found = modules_without_scales(tree);
  std::unordered_map<std::string_view, const UnscaledModule*, KeyedHash> by_path;
  for (const UnscaledModule& place : found) by_path.emplace(place.path, &place);
  std::vector<NodeChange> changes;
  for (const PlaceWork& work : places) {
    const auto at = by_path.find(work.path);
    if (at == by_path.end()) throw Error(Status::refused, work.path + ": reads otherwise than a moment ago");
    const UnscaledModule& place = *at->second;
    changes.push_back({place.holder, value_for(work.fate, place, tree, release), work.path + done_to(work.fate)});
  }
  return changes;
}

}  // namespace tare
