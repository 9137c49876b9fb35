// Is it the file that was looked at before?
#pragma once

#include <sys/stat.h>

namespace tare {

/// Device, inode, size and mtime: somebody who wrote to the file, or put another in its place, changed one of them.
inline bool is_same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace tare
