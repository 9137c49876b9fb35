// Files that cannot be read as what they are. A loader finds that out late: until then it has called what stands before
// the break.
#pragma once

#include <string>

#include "lib/attest/doubt.hpp"
#include "lib/base/source.hpp"

namespace tare {

/// `why` it cannot be read, and what its pickle would import and call up to the break. The pickle is that of a .npy
/// behind its header; of any other file the one that starts with its first byte, if there is one.
Doubt doubt_of_broken(const std::shared_ptr<const Source>& source, const std::string& why);

}  // namespace tare
