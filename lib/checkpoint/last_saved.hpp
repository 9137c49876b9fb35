// Several saves in one folder, the last of which a note beside them names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/files.hpp"

namespace tare {

/// The file in `folder` that its note names. Nothing where it has none, or the note names no file of `entries`.
std::optional<std::string> last_saved(const Files& files, const std::string& folder,
                                      const std::vector<FileEntry>& entries);

/// Whether `name` is a save that `last` replaced.
bool is_replaced(std::string_view name, std::string_view last);

}  // namespace tare
