#include "lib/transaction/resolved_paths.hpp"

#include <cerrno>

namespace tare {
namespace {

struct Parts {
  std::string folder, name;
};

Parts parts_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

bool is_no_name(const std::string& name) {
  return name.empty() || name == "." || name == "..";
}

}  // namespace

ResolvedPath ResolvedPaths::of(const std::string& path) {
  const auto [words, name] = parts_of(path);
  if (is_no_name(name)) return followed(path);
  const Folder& in = folder(words);
  const auto status = in.status(name);
  if (!status || !S_ISLNK(status->st_mode)) return {joined(in.path(), name), status, false};
  ResolvedPath target = followed(path);
  target.is_link = true;
  return target;
}

const Folder& ResolvedPaths::folder(const std::string& words) {
  const auto known = folders_.find(words);
  if (known != folders_.end()) return known->second;
  std::string resolved;
  checked(files_.resolve(words, resolved), words);
  return folders_.emplace(words, Folder::at(files_, resolved)).first->second;
}

ResolvedPath ResolvedPaths::followed(const std::string& path) const {
  ResolvedPath found;
  found.path = resolved_path(files_, path);
  found.status = status_of(files_, found.path);
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
