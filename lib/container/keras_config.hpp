// What a `.keras` archive's config.json asks of whoever loads it.
#pragma once

#include <string>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/base/finding.hpp"

namespace tare {

/// Warnings about code and classes that no Keras ships, and about a configuration that cannot be read. `source` names
/// it.
std::vector<Finding> check_keras_config(ByteView config, const std::string& source);

}  // namespace tare
