// Lightning keeps the scalers of other frameworks, under keys of its own.
#pragma once

#include <span>

#include "lib/dialect/release_keys.hpp"

namespace tare {

/// Those of its usual way first, from its first release on.
std::span<const ReleaseKey> lightning_keys();

}  // namespace tare
