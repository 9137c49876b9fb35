// mindformers' adaptive window and the index of its level are one thing: whoever sets one sets the other.
#pragma once

#include <vector>

#include "lib/dialect/found.hpp"
#include "lib/edit/request.hpp"

namespace tare {

/// `given`, and what follows of a window or an index among it. Throws `refused` and prints the list for a window or a
/// level that is not in it, for two that do not go together, and where the state itself stands outside the list that is
/// known: then both have to be given.
std::vector<Assignment> with_window_levels(const FoundScaler& scaler, const std::vector<Assignment>& given);

}  // namespace tare
