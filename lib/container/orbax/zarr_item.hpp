// An item of an Orbax checkpoint whose arrays are zarr's, each in a folder of its own: `<name>/.zarray` and `<name>/0`,
// or `<name>/zarr.json` and `<name>/c`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/container/container.hpp"
#include "lib/container/source_folder.hpp"

namespace tare {

/// Those of the arrays' names that are to be read. Nothing is read of the others.
using ArrayChoice = std::function<std::vector<std::string>(const std::vector<std::string>& names)>;

/// `name` is the metadata file's. What cannot be read is told in the findings (`item-not-read`).
std::unique_ptr<Container> open_orbax_zarr(const std::shared_ptr<const SourceFolder>& folder, const std::string& name,
                                           const ArrayChoice& choose);

}  // namespace tare
