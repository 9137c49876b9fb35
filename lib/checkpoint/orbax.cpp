#include "lib/checkpoint/orbax.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/container/orbax/metadata.hpp"
#include "lib/container/orbax/ocdbt_item.hpp"
#include "lib/container/orbax/zarr.hpp"
#include "lib/dialect/stored_items.hpp"

namespace tare {
namespace {

std::vector<StoredItem> items_of(const std::vector<std::string>& names) {
  std::vector<StoredItem> items;
  items.reserve(names.size());
  for (const std::string& array : names) items.push_back({array, true, 0});  // how large, its document says
  return items;
}

/// Whether a folder `d` is there that is no array's: what a database keeps its nodes in.
bool has_database_files(const SourceFolder& folder, const std::vector<std::string>& folders) {
  return std::ranges::find(folders, "d") != folders.end() && !folder.has(fmt::format("d/{}", zarr2_document)) &&
         !folder.has(fmt::format("d/{}", zarr3_document));
}

/// What lies in an item's folder tells which file it is opened by, and that it had a description.
void tell_of_missing(const SourceFolder& folder, bool is_database, std::vector<Finding>& findings) {
  const std::vector<std::string> folders = folder.folders();
  const auto has_folder = [&](std::string_view beginning) {
    return std::any_of(folders.begin(), folders.end(), [&](const auto& name) { return name.starts_with(beginning); });
  };
  const auto tell = [&](std::string_view name) {
    findings.push_back({Severity::error, "incomplete-checkpoint",
                        fmt::format("{} is not there, so Orbax cannot load all of it", name), "", ""});
  };
  if (!is_database && (has_folder("ocdbt.process_") || has_database_files(folder, folders))) tell(ocdbt_manifest_name);
  if (!folder.has(orbax_metadata_name) && has_folder("array_metadatas")) tell(orbax_metadata_name);
}

}  // namespace

bool is_orbax_metadata(std::string_view file_name) {
  return file_name == orbax_metadata_name;
}

bool is_ocdbt_manifest(std::string_view file_name) {
  return file_name == ocdbt_manifest_name;
}

bool is_orbax_part(std::string_view) {
  return false;
}

std::vector<std::string> orbax_wholes_of(std::string_view) {
  return {};
}

std::vector<std::string> orbax_state_folders(const std::vector<std::string>& names) {
  const std::vector<bool> flags = possible_state(items_of(names));
  std::vector<std::string> chosen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (flags[i]) chosen.push_back(names[i]);
  }
  return chosen;
}

OpenedWhole open_orbax_item(const std::shared_ptr<const SourceFolder>& folder, const std::string& name) {
  OpenedWhole opened;
  const auto choose = [&](const std::vector<std::string>& names) {
    opened.contents = describe_items(items_of(names));
    return orbax_state_folders(names);
  };
  const bool is_database = folder->has(ocdbt_manifest_name);
  opened.container =
      is_database ? open_orbax_ocdbt(folder, ocdbt_manifest_name, choose) : open_orbax_zarr(folder, name, choose);
  tell_of_missing(*folder, is_database, opened.findings);
  return opened;
}

}  // namespace tare
