// A file of torch's old form (legacy_stream.hpp): what torch.save wrote before 1.6.
#pragma once

#include <memory>

#include "lib/container/container.hpp"

namespace tare {

/// Throws `corrupt` where counts, keys and sizes do not fit together: torch would load other data, or none.
std::unique_ptr<Container> open_torch_legacy(const std::shared_ptr<const Source>& source);

}  // namespace tare
