// Frameworks that save flat: a scaler's parameters stand among those of the model, at the file's root, told apart by
// their dotted names alone. What stands in front of all of a scaler's names is its path.
#pragma once

#include <span>
#include <vector>

#include "lib/dialect/dialect.hpp"

namespace tare {

/// Every path below which `names.front()` stands and holds a single number, with those of `names` that stand beside it
/// and are required; in file order. Empty where `map` is not the file's root.
std::vector<Sighting> parameters_named(const Tree& tree, NodeId map, NodeId root, std::span<const FieldRule> names);

/// Whether one part of a sighting has that role.
bool has_role(const Sighting& sighting, Role role);

}  // namespace tare
