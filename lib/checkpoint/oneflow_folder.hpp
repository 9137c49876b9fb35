// A folder of oneflow.save: a folder a variable, beside `snapshot_done`, whose name is the variable's; or beside
// `pickled_data`, a pickle whose tensors are the names of folders. Source: python/oneflow/framework/check_point_v2.py.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/checkpoint/several_files.hpp"

namespace tare {

bool is_oneflow_whole(std::string_view file_name);
/// None: all of its parts lie in folders.
bool is_oneflow_part(std::string_view file_name);
std::vector<std::string> oneflow_wholes_of(std::string_view file_name);
/// Reads the variables of a loss scale. REQUIRES: is_oneflow_whole(whole).
OpenedWhole open_oneflow_folder(const std::shared_ptr<const SourceFolder>& folder, const std::string& whole);

}  // namespace tare
