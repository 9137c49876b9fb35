// What a framework is told and does not keep in its scaler's state, where it saves its configuration in the same
// checkpoint: the values that a resumed run has.
#pragma once

#include "lib/dialect/found.hpp"
#include "lib/dialect/walk.hpp"

namespace tare {

/// What the configurations around the step where `scaler` was found, and the file's own, say of what it has no field
/// for. The nearest counts.
std::vector<ConfiguredValue> configuration_of(const FoundScaler& scaler, const TreeWalk& walk, std::uint32_t step,
                                              const Tree& tree, const FileContext& file);

}  // namespace tare
