// What mmengine runs and imports for the configuration that it keeps in a checkpoint as Python.
// Source: mmengine/config/config.py (fromstring, _file2dict), mmengine/registry/registry.py (get,
// import_from_location), mmengine/runner/runner.py (resume).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/container/container.hpp"

namespace tare {

/// `builtins.exec` for a source that does more than assign literals, or runs other files; of any other what its texts
/// name: `type`, `custom_imports`, `default_scope`.
std::vector<GlobalName> names_in_mmengine_source(std::string_view source, std::uint64_t offset);

}  // namespace tare
