#include "lib/transaction/folder.hpp"

#include <cerrno>

#include "lib/base/file_path.hpp"

namespace tare {
namespace {

/// Not there, no folder, or behind a link.
bool leads_nowhere(int result) {
  return result == -ENOENT || result == -ENOTDIR || result == -ELOOP || result == -EXDEV;
}

}  // namespace

std::optional<Folder> Folder::find(FileLayer& files, const std::string& path) {
  const int opened = files.open_folder(no_folder, path);
  if (leads_nowhere(opened)) return std::nullopt;
  return Folder(std::make_shared<const OpenFile>(OpenFile::adopt(files, opened, [&] { return path; })));
}

Folder Folder::at(FileLayer& files, const std::string& path) {
  const int opened = files.open_folder(no_folder, path);
  return Folder(std::make_shared<const OpenFile>(OpenFile::adopt(files, opened, [&] { return path; })));
}

std::optional<Folder> Folder::find(const std::string& relative) const {
  if (relative.empty()) return *this;
  const int opened = files().open_folder(descriptor(), relative);
  if (leads_nowhere(opened)) return std::nullopt;
  const auto below = [&] { return joined(path(), relative); };
  return Folder(std::make_shared<const OpenFile>(OpenFile::adopt(files(), opened, below)));
}

std::optional<struct stat> Folder::status(const std::string& name) const {
  struct stat status {};
  const int result = files().stat_at(descriptor(), name, status);
  if (result == -ENOENT || result == -ENOTDIR) return std::nullopt;
  checked(result, [&] { return joined(path(), name); });
  return status;
}

std::vector<FileEntry> Folder::list(std::size_t most) const {
  std::vector<FileEntry> entries;
  checked(files().list(descriptor(), most, entries), path());
  return entries;
}

OpenFile Folder::open(const std::string& name, int flags, mode_t mode) const {
  return OpenFile::adopt(files(), try_open(name, flags, mode), [&] { return joined(path(), name); });
}

int Folder::try_open(const std::string& name, int flags, mode_t mode) const {
  return files().open_at(descriptor(), name, flags, mode);
}

void Folder::remove_if_there(const std::string& name) const {
  const int result = files().unlink_at(descriptor(), name);
  if (result != -ENOENT) checked(result, [&] { return joined(path(), name); });
}

void Folder::sync() const {
  const OpenFile itself = open(".", O_RDONLY | O_DIRECTORY);
  const int result = files().fsync(itself.descriptor());
  if (result != -EINVAL) checked(result, path());
}

OpenFile adopt(const Place& place, int opened) {
  return OpenFile::adopt(place.folder.files(), opened, [&] { return place.path(); });
}

std::optional<Place> place_below(const Folder& folder, const std::string& relative) {
  const std::size_t slash = relative.rfind('/');
  if (slash == std::string::npos) return Place{folder, relative};
  auto parent = folder.find(relative.substr(0, slash));
  if (!parent) return std::nullopt;
  return Place{std::move(*parent), relative.substr(slash + 1)};
}

std::optional<Place> place_of(FileLayer& files, const std::string& path) {
  auto folder = Folder::find(files, folder_of(path));
  if (!folder) return std::nullopt;
  return Place{std::move(*folder), path == "/" ? "." : path.substr(path.rfind('/') + 1)};
}

bool stands_for(const Place& place, const OpenFile& file) {
  const auto named = place.status();
  return named && named->st_ino == file.status().st_ino;
}

void rename(const Place& from, const Place& to) {
  checked(from.folder.files().rename_at(from.folder.descriptor(), from.name, to.folder.descriptor(), to.name),
          [&] { return from.path(); });
}

std::optional<struct stat> status_of(FileLayer& files, const std::string& path) {
  const auto place = place_of(files, path);
  return place ? place->status() : std::nullopt;
}

}  // namespace tare
