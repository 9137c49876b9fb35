// Migrations that may lose nothing.
#pragma once

#include "lib/state/convert.hpp"

namespace tare {

/// Throws `refused` where a value would be lost, or where the two rules part.
void require_lossless(const Conversion& conversion);

}  // namespace tare
