// A scaler put where there is none: into `{}`, in place of None, or what a broken one lacks.
#pragma once

#include <optional>
#include <string>

#include "lib/dialect/empty_place.hpp"
#include "lib/edit/plan.hpp"

namespace tare {

/// The empty place of a checkpoint, the same in all files that have one: that at `at`, or the one that a trainer is
/// known to use. Its node is of a file that is closed again. Nothing where there is none.
std::optional<EmptyPlace> empty_place_in(const Checkpoint& checkpoint, const std::optional<std::string>& at);

/// The edit that fills that place in every file with `scaler`, a map of what its framework stores. As plan_edit, it
/// tries the change on a view of each file first. Throws `refused` where there is no such place, where the format
/// cannot take what is not there yet, or where places differ from file to file.
EditPlan plan_fill(const Checkpoint& checkpoint, const std::optional<std::string>& at, const Document& scaler);

}  // namespace tare
