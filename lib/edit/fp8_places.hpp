// Places in a checkpoint where modules of TransformerEngine keep no scales: they are filled, emptied, or go.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lib/checkpoint/checkpoint.hpp"
#include "lib/dialect/extra_state.hpp"

namespace tare {

/// What becomes of a place.
struct Emptied {};
struct Removed {};  ///< with its key
using PlaceFate = std::variant<Removed, Emptied, ExtraState>;

struct PlaceWork {
  std::size_t file = 0;  ///< index into Checkpoint::files: the one that its container is opened by
  std::string path;
  std::string recipe;         ///< the class of the one that stands there alone; empty: nothing does
  bool is_operation = false;  ///< of te.ops, whose state is another than a module's
  PlaceFate fate = {};
};

/// The places without scales of the layers that match `layer`, to go.
std::vector<PlaceWork> places_to_remove(const Checkpoint& checkpoint, const std::optional<std::string>& layer);
/// Those of them where a recipe stands, to be emptied.
std::vector<PlaceWork> places_to_empty(const Checkpoint& checkpoint, const std::optional<std::string>& layer);

/// The places without scales of all layers of `set` that match `layer`, with their state. Throws `refused` where one
/// has none.
std::vector<PlaceWork> places_to_fill(const Checkpoint& checkpoint, const Fp8Set& set,
                                      const std::optional<std::string>& layer);

/// What the places of one file ask of its tree, in their order. Throws `refused` where a place is there no more.
std::vector<NodeChange> changes_of_places(std::span<const PlaceWork> places, const Tree& tree,
                                          const std::optional<TeRelease>& release);

}  // namespace tare
