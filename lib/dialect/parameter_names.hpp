// Frameworks that save a scaler's parameters among those of the model, told apart by their names alone. Containers
// split names at their dots where they hold a module's parameters; what stands in front of all of a scaler's is its
// path.
#pragma once

#include <span>
#include <vector>

#include "lib/dialect/found.hpp"

namespace tare {

/// What stands under a name with dots: under the whole of it, or in maps by its parts; nowhere where nothing does.
NodeId find_parameter(const Tree& tree, NodeId map, std::string_view name);

/// The state in `map`: those of `names` that are there, in their order. None where a required one is missing or holds
/// no single number.
Matches parameters_named(const Tree& tree, NodeId map, std::span<const FieldRule> names);

/// Whether one part of a match has that role.
bool has_role(const Match& match, Role role);

}  // namespace tare
