// Files of elements that an array speaks of: bytes that mean nothing by themselves, and must not.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lib/attest/doubt.hpp"
#include "lib/base/source.hpp"

namespace tare {

/// Whether a file of such a name can be an array's chunk or a database's node: they are called by numbers.
bool is_named_as_elements(std::string_view file_name);

/// Of the folders of these paths those in which files of elements lie, each with a slash at its end: an array's, which
/// has its description, and that of a database's nodes.
std::set<std::string> folders_of_elements(const std::vector<std::string>& paths);

/// What loaders could take elements for by their first or last bytes, or by the first that they unpack to; nothing
/// where they are only elements.
Doubt doubt_of_elements(const std::shared_ptr<const Source>& source);

}  // namespace tare
