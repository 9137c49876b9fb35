// Is it the file that was looked at before?
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <ctime>

namespace tare {

/// Of what fstat tells, what a file is known again by, and may be edited by: less than half of it, as there may be
/// thousands.
struct FileStamp {
  FileStamp() = default;
  FileStamp(const struct stat& status)  // NOLINT(google-explicit-constructor): it is what a stamp is of
      : device(status.st_dev),
        inode(status.st_ino),
        size(status.st_size),
        modified(status.st_mtim),
        changed(status.st_ctim),
        mode(status.st_mode),
        names(static_cast<std::uint32_t>(status.st_nlink)) {}

  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  timespec modified{};      ///< mtime
  timespec changed{};       ///< ctime
  mode_t mode = 0;          ///< kind and permissions
  std::uint32_t names = 0;  ///< hard links
};

inline bool is_same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/// Device, inode, size and mtime: somebody who wrote to the file, or put another in its place, changed one of them.
inline bool is_same_file(const FileStamp& a, const FileStamp& b) {
  return a.device == b.device && a.inode == b.inode && a.size == b.size && is_same_time(a.modified, b.modified);
}

}  // namespace tare
