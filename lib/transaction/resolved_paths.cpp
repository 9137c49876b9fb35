#include "lib/transaction/resolved_paths.hpp"

#include <cerrno>
#include <optional>
#include <vector>

#include "lib/base/limits.hpp"

namespace tare {
namespace {

/// From so many names of a folder on a list of it costs less than a look at each.
constexpr std::size_t many = 8;

struct Parts {
  std::string folder, name;
};

Parts parts_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

FileType type_of(const std::optional<struct stat>& status) {
  if (!status) return FileType::absent;
  if (S_ISREG(status->st_mode)) return FileType::file;
  if (S_ISDIR(status->st_mode)) return FileType::folder;
  return S_ISLNK(status->st_mode) ? FileType::link : FileType::other;
}

bool is_no_name(const std::string& name) {
  return name.empty() || name == "." || name == "..";
}

}  // namespace

ResolvedPath ResolvedPaths::of(const std::string& path) {
  const auto [words, name] = parts_of(path);
  if (is_no_name(name)) return followed(path);
  KnownFolder& in = folder(words);
  const FileType type = type_in(in, name);
  if (type != FileType::link) return {joined(in.folder.path(), name), type, false};
  ResolvedPath target = followed(path);
  target.is_link = true;
  return target;
}

ResolvedPaths::KnownFolder& ResolvedPaths::folder(const std::string& words) {
  const auto known = folders_.find(words);
  if (known != folders_.end()) return known->second;
  std::string resolved;
  checked(files_.resolve(words, resolved), words);
  return folders_.emplace(words, KnownFolder{Folder::at(files_, resolved)}).first->second;
}

/// What is not in a list, or was not when it was made, is looked at by itself.
FileType ResolvedPaths::type_in(KnownFolder& in, const std::string& name) {
  if (++in.asked == many) {
    std::vector<FileEntry> entries;
    if (in.folder.files().list(in.folder.descriptor(), limits::max_files, entries) == 0) {
      for (FileEntry& entry : entries) in.listed.emplace(std::move(entry.name), entry.type);
    }
  }
  const auto known = in.listed.find(name);
  return known == in.listed.end() ? type_of(in.folder.status(name)) : known->second;
}

ResolvedPath ResolvedPaths::followed(const std::string& path) const {
  ResolvedPath found;
  found.path = resolved_path(files_, path);
  found.type = type_of(status_of(files_, found.path));
  return found;
}

std::string resolved_path(FileLayer& files, const std::string& path) {
  std::string resolved;
  const int found = files.resolve(path, resolved);
  if (found != -ENOENT) {
    checked(found, path);
    return resolved;
  }
  const auto [folder, name] = parts_of(path);
  checked(files.resolve(folder, resolved), path);
  return joined(resolved, name);
}

}  // namespace tare
