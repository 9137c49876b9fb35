#include "lib/base/local_paths.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>

namespace tare {
namespace {

/// As the folder itself says, where it does: no file is asked.
FileType type_of(const std::string& folder, const dirent& entry) {
  unsigned char type = entry.d_type;
  if (type == DT_UNKNOWN) {
    struct stat status {};
    if (::lstat((folder + "/" + entry.d_name).c_str(), &status) == 0)
      type = static_cast<unsigned char>(IFTODT(status.st_mode));
  }
  if (type == DT_REG) return FileType::file;
  if (type == DT_DIR) return FileType::folder;
  return type == DT_LNK ? FileType::link : FileType::other;
}

}  // namespace

int list_folder(const std::string& folder, std::size_t most, std::vector<FileEntry>& into) {
  const auto close = [](DIR* open) { ::closedir(open); };
  const std::unique_ptr<DIR, decltype(close)> open(::opendir(folder.c_str()), close);
  if (!open) return errno;
  while (most > 0) {
    errno = 0;
    const dirent* entry = ::readdir(open.get());
    if (entry == nullptr) return errno;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    into.push_back({std::string(name), type_of(folder, *entry)});
    --most;
  }
  return 0;
}

int resolve_path(const std::string& path, std::string& into) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (!real && errno == ENOMEM) throw std::bad_alloc();
  if (!real) return errno;
  into = real.get();
  return 0;
}

}  // namespace tare
