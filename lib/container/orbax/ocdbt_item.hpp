// An item of an Orbax checkpoint whose arrays are kept in one OCDBT database: keys "<name>/.zarray" and "<name>/0", or
// "<name>/zarr.json" and "<name>/c". What each process wrote stays beside it (`ocdbt.process_0`), merged and stale: the
// item's own manifest rules.
#pragma once

#include <memory>
#include <string>

#include "lib/container/orbax/zarr_item.hpp"

namespace tare {

/// The file that a database is opened by.
inline constexpr const char* ocdbt_manifest_name = "manifest.ocdbt";

/// `name` is the manifest's. What cannot be read of the chosen arrays is told in the findings (`item-not-read`). Throws
/// what read_ocdbt_manifest and OcdbtTree throw.
std::unique_ptr<Container> open_orbax_ocdbt(const std::shared_ptr<const SourceFolder>& folder, const std::string& name,
                                            const ArrayChoice& choose);

}  // namespace tare
