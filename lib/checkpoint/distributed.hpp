// torch's distributed checkpoints: recognised, not read yet.
#pragma once

#include <string>

#include "lib/base/finding.hpp"

namespace tare {

/// What to tell of the distributed checkpoint in `directory`. Throws `corrupt` where its `.metadata` is not what torch
/// writes there.
Finding tell_of_distributed(const std::string& directory);

}  // namespace tare
