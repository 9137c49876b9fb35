// Items of Orbax's checkpoints as they lie on disk: a folder with metadata, and arrays in folders or in one database.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/checkpoint/several_files.hpp"

namespace tare {

/// "_METADATA": an item whose arrays are in folders of their own, unless a database lies beside it.
bool is_orbax_metadata(std::string_view file_name);
/// "manifest.ocdbt"
bool is_ocdbt_manifest(std::string_view file_name);
/// Parts lie in folders below the item, and are not told by their names.
bool is_orbax_part(std::string_view file_name);
std::vector<std::string> orbax_wholes_of(std::string_view name);

/// Of an item's arrays, each a folder or a key of its database, those that can be scaler state.
std::vector<std::string> orbax_state_folders(const std::vector<std::string>& names);

/// Opens the item that has that file, and reads of it what can be scaler state.
OpenedWhole open_orbax_item(const std::shared_ptr<const SourceFolder>& folder, const std::string& name);

}  // namespace tare
