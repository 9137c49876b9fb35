// Texts that loaders take for something by their files' names: graphs of TensorFlow, networks of Caffe, modules of
// MLflow.
#pragma once

#include <string_view>

#include "lib/attest/doubt.hpp"

namespace tare {

/// Without words or names where there is nothing of the kind. `name` may have folders in front.
Doubt doubt_by_name(std::string_view text, std::string_view name);

}  // namespace tare
