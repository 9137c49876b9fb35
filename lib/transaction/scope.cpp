#include "lib/transaction/scope.hpp"

#include <algorithm>
#include <cerrno>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/limits.hpp"
#include "lib/transaction/resolved_paths.hpp"

namespace tare {

std::vector<std::string> every_folder(const std::vector<FileEntry>& entries) {
  std::vector<std::string> folders;
  for (const FileEntry& entry : entries) {
    if (entry.type == FileType::folder && entry.name != ".tare") folders.push_back(entry.name);
  }
  return folders;
}

Scope::Scope(FileLayer& files, const std::vector<std::string>& paths, const std::string& upper, const JournalKey& key,
             FolderChoice searched)
    : files_(&files), name_(paths.empty() ? std::string() : paths.front()), key_(key), searched_(searched) {
  if (!upper.empty()) upper_ = resolved_path(files, upper);
  ResolvedPaths resolved(files);
  for (const std::string& path : paths) {
    const ResolvedPath found = resolved.of(path);
    const bool is_folder = found.type == FileType::folder;
    named_.insert(is_folder ? found.path : folder_of(found.path));
    is_folder ? add_folder(found.path) : add_file(found.path);
  }
}

bool Scope::encloses(const std::string& folder) const {
  for (std::string at = folder;; at = folder_of(at)) {
    if (named_.contains(at)) return true;
    if (at == "/") return false;
  }
}

void Scope::add_file(const std::string& path) {
  if (roots_.insert(path).second) add_parents(folder_of(path));
}

void Scope::add_folder(const std::string& path) {
  if (!roots_.insert(path).second) return;
  add_parents(path);
  add_inside(path, 0);
}

void Scope::add_parents(const std::string& folder) {
  if (folders_.contains(folder)) return;
  const auto start = status_of(*files_, folder);
  for (std::string at = folder;; at = folder_of(at)) {
    const auto status = status_of(*files_, at);
    if (!start || !status || status->st_dev != start->st_dev) return;
    if (!folders_.insert(at).second || at == upper_ || at == "/") return;
  }
}

void Scope::add_inside(const std::string& folder, std::size_t depth) {
  const auto opened = Folder::find(*files_, folder);
  if (!opened) return;
  std::vector<FileEntry> entries;
  const int listed = files_->list(opened->descriptor(), limits::max_files + 1, entries);
  if (listed == -EACCES) return;
  checked(listed, folder);
  if (depth > limits::max_depth || folders_.size() + entries.size() > limits::max_files) {
    throw Error(Status::unsupported, folder + ": too many files to look for edits in", "name the checkpoint itself");
  }
  for (const FileEntry& entry : entries) {
    std::string target;
    if (entry.type != FileType::link || files_->resolve(joined(folder, entry.name), target) != 0) continue;
    const auto status = status_of(*files_, target);
    if (status && S_ISREG(status->st_mode)) add_file(target);
  }
  for (const std::string& name : searched_(entries)) {
    const std::string path = joined(folder, name);
    folders_.insert(path);
    add_inside(path, depth + 1);
  }
}

bool Scope::touches(const Store& store, const Journal& journal) const {
  return std::any_of(journal.files.begin(), journal.files.end(), [&](const FileRecord& record) {
    for (std::string at = store.path(record);; at = folder_of(at)) {
      if (roots_.contains(at)) return true;
      if (at == "/") return false;
    }
  });
}

}  // namespace tare
