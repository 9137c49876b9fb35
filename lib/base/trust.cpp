#include "lib/base/trust.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "lib/base/file_path.hpp"

namespace tare {
namespace {

bool is_within(const std::string& path, const std::string& folder) {
  return folder == "/" || path.starts_with(folder + '/');
}

/// Who can replace tare itself, besides root: its owner, and a group that may write it or its folder.
struct Keepers {
  uid_t user = geteuid();
  uid_t owner = user;
  std::optional<gid_t> group;
};

Keepers keepers_of(const std::string& own) {
  Keepers keepers;
  struct stat status;
  for (const std::string& path : {folder_of(own), own}) {
    if (stat(path.c_str(), &status) != 0) continue;
    if ((status.st_mode & S_IWGRP) != 0) keepers.group = status.st_gid;
    if (path == own) keepers.owner = status.st_uid;
  }
  return keepers;
}

std::string distrust_one(const std::string& path, const Keepers& keepers) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return path + " cannot be looked at";
  if (status.st_uid != 0 && status.st_uid != keepers.user && status.st_uid != keepers.owner) {
    return path + " belongs to user " + std::to_string(status.st_uid) +
           ", who is neither you nor root nor tare's owner";
  }
  // In a folder with this bit, as /tmp, nobody renames or removes what is another's.
  if (S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0) return {};
  if ((status.st_mode & S_IWOTH) != 0) return path + " can be written by everybody (chmod go-w " + path + ")";
  if ((status.st_mode & S_IWGRP) != 0 && status.st_gid != 0 && keepers.group != status.st_gid) {
    return path + " can be written by group " + std::to_string(status.st_gid) + " (chmod g-w " + path + ")";
  }
  return {};
}

}  // namespace

std::string distrust(const std::string& path, const std::string& own) {
  const Keepers keepers = keepers_of(own);
  std::string reason = distrust_one(path, keepers);
  for (std::string folder = folder_of(path); reason.empty(); folder = folder_of(folder)) {
    reason = distrust_one(folder, keepers);
    if (is_within(own, folder)) break;
  }
  return reason;
}

}  // namespace tare
