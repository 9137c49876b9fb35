#include "lib/base/local_paths.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>

namespace tare {
namespace {

struct CloseFolder {
  void operator()(DIR* open) const { ::closedir(open); }
};
using OpenedFolder = std::unique_ptr<DIR, CloseFolder>;

/// As the folder itself says, where it does: no file is asked.
FileType type_of(DIR* folder, const dirent& entry) {
  unsigned char type = entry.d_type;
  if (type == DT_UNKNOWN) {
    struct stat status {};
    if (::fstatat(::dirfd(folder), entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
      type = static_cast<unsigned char>(IFTODT(status.st_mode));
  }
  if (type == DT_REG) return FileType::file;
  if (type == DT_DIR) return FileType::folder;
  return type == DT_LNK ? FileType::link : FileType::other;
}

int list(const OpenedFolder& folder, std::size_t most, std::vector<FileEntry>& into) {
  if (!folder) return errno;
  while (most > 0) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr) return errno;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    into.push_back({std::string(name), type_of(folder.get(), *entry)});
    --most;
  }
  return 0;
}

}  // namespace

int list_folder(const std::string& folder, std::size_t most, std::vector<FileEntry>& into) {
  return list(OpenedFolder(::opendir(folder.c_str())), most, into);
}

int list_folder(int descriptor, std::size_t most, std::vector<FileEntry>& into) {
  // Opened again: what only finds names (O_PATH) cannot be read, and listing moves a descriptor's place.
  const int readable = ::openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (readable < 0) return errno;
  OpenedFolder folder(::fdopendir(readable));
  if (!folder) ::close(readable);
  return list(folder, most, into);
}

int resolve_path(const std::string& path, std::string& into) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (!real && errno == ENOMEM) throw std::bad_alloc();
  if (!real) return errno;
  into = real.get();
  return 0;
}

}  // namespace tare
