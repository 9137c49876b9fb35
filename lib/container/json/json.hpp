// JSON, as sidecars of checkpoints are written: small files, read whole.
#pragma once

#include <memory>

#include "lib/container/container.hpp"

namespace tare {

/// Throws `refused` for more than limits::max_state_bytes, and what read_json (lib/json/reader.hpp) throws.
std::unique_ptr<Container> open_json(const std::shared_ptr<const Source>& source);

}  // namespace tare
