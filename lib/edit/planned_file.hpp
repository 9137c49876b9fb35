// A file that an edit is planned for, as it is now.
#pragma once

#include <memory>
#include <string>

#include "lib/base/files.hpp"
#include "lib/transaction/transaction.hpp"

namespace tare {

/// Opened; null where there is no such file.
std::shared_ptr<const Source> planned_source(const Files& files, const std::string& path);

/// No change yet, of what `source` was opened as.
FileEdit planned_edit(std::string path, const Source& source);

}  // namespace tare
