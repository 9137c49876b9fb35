// Places in a checkpoint where modules of TransformerEngine keep no state: they are filled, or go.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/checkpoint/checkpoint.hpp"
#include "lib/dialect/extra_state.hpp"

namespace tare {

struct PlaceWork {
  std::size_t file = 0;  ///< index into Checkpoint::files: the one that its container is opened by
  std::string path;
  std::optional<ExtraState> state = {};  ///< what fills it; nothing: it goes, with its key
};

/// The empty places of the layers that match `layer`, to go.
std::vector<PlaceWork> places_to_remove(const Checkpoint& checkpoint, const std::optional<std::string>& layer);

/// The empty places of all layers of `set` that match `layer`, with their state. Throws `refused` where one has none.
std::vector<PlaceWork> places_to_fill(const Checkpoint& checkpoint, const Fp8Set& set,
                                      const std::optional<std::string>& layer);

/// What the places of one file ask of its tree, in their order. Throws `refused` where a place is empty no more.
std::vector<NodeChange> changes_of_places(std::span<const PlaceWork> places, const Tree& tree,
                                          const std::optional<TeRelease>& release);

}  // namespace tare
