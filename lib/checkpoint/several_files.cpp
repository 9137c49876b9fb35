#include "lib/checkpoint/several_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "lib/checkpoint/bundle.hpp"
#include "lib/checkpoint/distributed.hpp"
#include "lib/checkpoint/oneflow_folder.hpp"
#include "lib/checkpoint/orbax.hpp"
#include "lib/checkpoint/sharded_weights.hpp"
#include "lib/checkpoint/static_variables.hpp"

namespace tare {
namespace {

constexpr auto formats = std::to_array<SeveralFiles>({
    {.framework = "torch",
     .is_whole = is_distributed_metadata,
     .is_part = is_distributed_data,
     .wholes_of = distributed_metadata_of,
     .open = open_distributed,
     .parts_are = ".distcp files",
     .whole_is = ".metadata",
     .overruling = ".metadata"},
    {.framework = "TensorFlow",
     .is_whole = is_bundle_index,
     .is_part = is_bundle_data,
     .wholes_of = bundle_indices_of,
     .open = open_bundle,
     .parts_are = ".data files",
     .whole_is = ".index"},
    {.framework = "Orbax",
     .is_whole = is_ocdbt_manifest,
     .is_part = is_orbax_part,
     .wholes_of = orbax_wholes_of,
     .open = open_orbax_item,
     .parts_are = "data files",
     .whole_is = "manifest.ocdbt",
     .owns_folders = true},
    {.framework = "Orbax",
     .is_whole = is_orbax_metadata,
     .is_part = is_orbax_part,
     .wholes_of = orbax_wholes_of,
     .open = open_orbax_item,
     .parts_are = "arrays",
     .whole_is = "_METADATA",
     .overruling = "manifest.ocdbt",
     .owns_folders = true,
     .state_folders = orbax_state_folders},
    {.framework = "Paddle",
     .is_whole = is_scale_variable,
     .is_part = is_counter_variable,
     .wholes_of = scale_variables_of,
     .open = open_static_variables,
     .parts_are = "counters of a scaler",
     .whole_is = "loss_scaling_0"},
    {.framework = "OneFlow",
     .is_whole = is_oneflow_whole,
     .is_part = is_oneflow_part,
     .wholes_of = oneflow_wholes_of,
     .open = open_oneflow_folder,
     .parts_are = "variables",
     .whole_is = "snapshot_done",
     .whole_stands_alone = true,
     .owns_folders = true},
    {.framework = "Keras",
     .is_whole = is_weights_map,
     .is_part = is_weights_shard,
     .wholes_of = weights_maps_of,
     .open = open_sharded_weights,
     .parts_are = ".weights.h5 files",
     .whole_is = ".weights.json",
     .parts_stand_alone = true},
});

const SeveralFiles* format_where(bool (*SeveralFiles::*matches)(std::string_view), std::string_view file_name) {
  const auto found =
      std::find_if(formats.begin(), formats.end(), [&](const SeveralFiles& f) { return (f.*matches)(file_name); });
  return found == formats.end() ? nullptr : &*found;
}

}  // namespace

std::span<const SeveralFiles> several_files() {
  return formats;
}

const SeveralFiles* format_of_whole(std::string_view file_name) {
  return format_where(&SeveralFiles::is_whole, file_name);
}

const SeveralFiles* format_of_part(std::string_view file_name) {
  return format_where(&SeveralFiles::is_part, file_name);
}

std::vector<FileEntry> without_parts(std::vector<FileEntry> entries) {
  std::set<std::string> wholes;
  for (const FileEntry& entry : entries) {
    if (format_of_whole(entry.name) != nullptr) wholes.insert(entry.name);
  }
  const auto is_among_them = [&](const std::string& whole) { return wholes.contains(whole); };
  std::erase_if(entries, [&](const FileEntry& entry) {
    const SeveralFiles* format = wholes.empty() ? nullptr : format_of_part(entry.name);
    return format != nullptr && std::ranges::any_of(format->wholes_of(entry.name), is_among_them);
  });
  return entries;
}

bool is_of_several_files(std::string_view file_name) {
  return format_of_whole(file_name) != nullptr || format_of_part(file_name) != nullptr;
}

std::string without_whole(std::string_view path, const SeveralFiles& format) {
  return fmt::format("{}: {} without {}: its save never finished, or goes on", path, format.parts_are, format.whole_is);
}

}  // namespace tare
