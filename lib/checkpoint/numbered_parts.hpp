// Files whose names say how many there are: model-00001-of-00002.safetensors.
#pragma once

#include <string>
#include <vector>

#include "lib/base/finding.hpp"

namespace tare {

/// Tells of each series of such names of which fewer are among `paths` (`rank-missing`, an error).
std::vector<Finding> told_of_parts(const std::vector<std::string>& paths);

}  // namespace tare
