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

constexpr std::size_t md5_digits = 32, sha1_digits = 40, sha256_digits = 64;

bool is_hex(std::string_view name) {
  return std::ranges::all_of(name, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// Caches name files by the hash of their content, and link them from every place that has it.
bool is_content_addressed(const std::string& path) {
  constexpr std::size_t in_folder = 2;  // digits
  const std::string folder = folder_of(path), above = folder_of(folder);
  const std::string_view name = file_name(path), part = file_name(folder);
  const auto is_hash = [&](std::size_t digits) { return name.size() == digits && is_hex(name); };
  const auto is_rest = [&](std::size_t digits) { return is_hash(digits - in_folder); };
  // The Hugging Face cache: blobs/HASH
  if (part == "blobs") return is_hash(sha1_digits) || is_hash(sha256_digits);
  // git-annex: annex/objects/…/KEY/KEY
  if (path.find("/annex/objects/") != path.npos && name == part) return true;
  if (part.size() != in_folder || !is_hex(part)) return false;
  // DVC, git and others: ab/REST
  if (is_rest(md5_digits) || is_rest(sha1_digits) || is_rest(sha256_digits)) return true;
  // git-lfs: ab/cd/abcd…
  return is_hash(sha256_digits) && name.starts_with(std::string(file_name(above)).append(part));
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
      throw Error(
          Status::refused,
          fmt::format("{}: is {} in a cache that names files by their content", edit.path, target.path),
          "edit a copy (cp -L follows links): the cache stays as it is; --content-addressed edits it all the same");
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
              "edit a copy, or allow hard links (--hard-links) if all of them are meant");
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
