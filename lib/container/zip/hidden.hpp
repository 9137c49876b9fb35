// Bytes of a zip archive that its directory does not speak of, and records whose headers say something else than it: a
// reader that goes from record to record sees another archive than one that asks the directory.
#pragma once

#include <string>
#include <vector>

#include "lib/container/zip/zip.hpp"

namespace tare {

/// In words, at most a few of each kind. Empty where every byte is a record's, the directory's or an end record's.
/// Reads all local headers. Throws as ZipArchive::record does.
std::vector<std::string> hidden_in_zip(const ZipArchive& archive);

}  // namespace tare
