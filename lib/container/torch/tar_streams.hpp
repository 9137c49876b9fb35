// The two members of torch's old tar archives that are pickles and bare bytes in turn. Source: torch/serialization.py,
// _legacy_load's legacy_load.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/container/container.hpp"

namespace tare {

/// `storages`: how many, of each a pickle (key, location, class) and its elements; then a pickle of views. All pickles,
/// and where it cannot be followed, or goes on.
std::vector<InnerDocument> tar_storages(const std::shared_ptr<const Source>& source, const std::string& name);

/// `tensors`: how many, of each a pickle (key, storage, class), its sizes and strides.
std::vector<InnerDocument> tar_tensors(const std::shared_ptr<const Source>& source, const std::string& name);

}  // namespace tare
