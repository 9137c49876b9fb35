// Adam whose second moments are float16: squares of small gradients are 0 there, and so is its usual eps.
#pragma once

#include <optional>
#include <string_view>

#include "lib/base/finding.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// Adam's name of it, in torch and in what follows torch.
inline constexpr std::string_view second_moment = "exp_avg_sq";

/// A warning `adam-half`, where the tree holds such moments beside an eps that float16 rounds to 0. No tensor is read.
std::optional<Finding> told_of_half_moments(const Tree& tree);

}  // namespace tare
