#include "lib/transaction/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/file_identity.hpp"
#include "lib/base/file_path.hpp"
#include "lib/transaction/resolved_paths.hpp"

namespace tare {
namespace {

bool is_hash(std::string_view name) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return (name.size() == 40 || name.size() == 64) && std::all_of(name.begin(), name.end(), is_hex);
}

/// As the Hugging Face cache keeps its files: `blobs/<hash of the content>`, shared by every snapshot that has it.
bool is_content_addressed(const std::string& path) {
  return folder_of(path).ends_with("/blobs") && is_hash(file_name(path));
}

bool same_patch(const Patch& a, const Patch& b) {
  return a.offset == b.offset && a.before == b.before && a.after == b.after;
}

bool same_change(const FileChange& a, const FileChange& b) {
  if (a.append.has_value() != b.append.has_value() || a.splice.has_value() != b.splice.has_value()) return false;
  if (!std::equal(a.patches.begin(), a.patches.end(), b.patches.begin(), b.patches.end(), same_patch)) return false;
  if (a.append && (a.append->old_size != b.append->old_size || a.append->body != b.append->body ||
                   a.append->commit != b.append->commit)) {
    return false;
  }
  return !a.splice || (a.splice->offset == b.splice->offset && a.splice->before == b.splice->before &&
                       a.splice->after == b.splice->after);
}

/// Root writes everything, others what they may write or make writable.
OpenFile open_writable(const Place& place) {
  FileLayer& files = place.folder.files();
  const int opened = place.folder.try_open(place.name, O_RDWR);
  if (opened == -EACCES) {
    const auto status = place.status();
    if (status && status->st_uid == files.user()) return place.open(O_RDONLY);
  }
  return adopt(place, opened);
}

}  // namespace

std::vector<Target> targets_of(FileLayer& files, const std::vector<FileEdit>& edits,
                               const TransactionOptions& options) {
  std::vector<Target> targets;
  std::map<std::pair<dev_t, ino_t>, const FileEdit*> seen;
  ResolvedPaths resolved(files);
  for (const FileEdit& edit : edits) {
    const auto [other, is_new] = seen.try_emplace({edit.planned.device, edit.planned.inode}, &edit);
    if (!is_new && !same_change(other->second->change, edit.change)) {
      throw Error(Status::invalid_argument, fmt::format("{} and {} are one file, and would be changed in two ways",
                                                        other->second->path, edit.path));
    }
    if (!is_new) continue;
    const ResolvedPath found = resolved.of(edit.path);
    if (found.type == FileType::absent) throw_file_error(edit.path, ENOENT);
    Target target{&edit, found.path, found.is_link};
    if (is_content_addressed(target.path) && !options.allow_content_addressed) {
      throw Error(Status::refused,
                  fmt::format("{}: is {} in a cache that names files by their content", edit.path, target.path),
                  "edit a copy: cp -L keeps the cache as it is");
    }
    targets.push_back(std::move(target));
  }
  return targets;
}

std::string common_folder(const std::vector<Target>& targets) {
  std::string folder = folder_of(targets.front().path);
  for (const Target& target : targets) {
    while (!target.path.starts_with(joined(folder, ""))) folder = folder_of(folder);
  }
  return folder;
}

std::string relative_to(const std::string& folder, const std::string& path) {
  return path.substr(joined(folder, "").size());
}

void require_editable(const FileStamp& stamp, const std::string& path, bool allow_hard_links) {
  if (!S_ISREG(stamp.mode)) throw Error(Status::refused, path + ": not a regular file");
  if (stamp.names <= 1 || allow_hard_links) return;
  throw Error(Status::refused, fmt::format("{}: has {} names (hard links), which would all change", path, stamp.names),
              "edit a copy, or allow hard links if all of them are meant");
}

OpenedFile open_editable(const Place& place, bool allow_hard_links) {
  OpenFile file = open_writable(place);
  const struct stat status = file.status();
  require_editable(status, file.path(), allow_hard_links);
  return {std::move(file), status};
}

void require_as_planned(const OpenedFile& opened, const FileStamp& planned) {
  if (is_same_file(opened.status, planned)) return;
  throw Error(Status::refused, opened.file.path() + ": changed since it was read for this edit",
              "something else writes it: try again when it is done");
}

}  // namespace tare
