#include "lib/edit/checkpoint_scope.hpp"

#include <algorithm>

#include "lib/base/file_path.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/checkpoint/several_files.hpp"
#include "lib/transaction/resolved_paths.hpp"

namespace tare {
namespace {

/// A name that is no file's own: TensorFlow calls a checkpoint by what its files' names begin with.
bool is_short_name(FileLayer& files, const std::string& path) {
  if (status_of(files, path)) return false;
  const auto has_whole = [&](const SeveralFiles& format) {
    const auto wholes = format.wholes_of(file_name(path));
    return std::any_of(wholes.begin(), wholes.end(), [&](const std::string& whole) {
      return status_of(files, joined(folder_of(path), whole)).has_value();
    });
  };
  return std::any_of(several_files().begin(), several_files().end(), has_whole);
}

std::string whole_of(FileLayer& files, const std::string& path) {
  const std::string resolved = resolved_path(files, path);
  const bool is_several = is_of_several_files(file_name(resolved)) || is_short_name(files, resolved);
  return is_several ? folder_of(resolved) : path;
}

/// Beside a whole whose format knows where state can be, only those.
std::vector<std::string> folders_with_state(const std::vector<FileEntry>& entries) {
  const SeveralFiles* format = nullptr;
  for (const FileEntry& entry : entries) {
    const SeveralFiles* whole = format_of_whole(entry.name);
    if (whole != nullptr && (format == nullptr || entry.name == format->overruling)) format = whole;
  }
  const bool is_known = format != nullptr && format->state_folders != nullptr;
  return is_known ? format->state_folders(every_folder(entries)) : every_folder(entries);
}

}  // namespace

Scope checkpoint_scope(FileLayer& files, const std::string& path, const JournalKey& key, const std::string& upper) {
  return {files, {whole_of(files, path)}, upper, key, folders_with_state};
}

}  // namespace tare
