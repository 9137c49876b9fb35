#include "lib/transaction/walk.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "lib/transaction/file_layer.hpp"

namespace tare {
namespace {

constexpr int only_to_find = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

}  // namespace

int walk_at_once(int base, const std::string& path) {
  struct open_how how {};
  how.flags = only_to_find;
  how.resolve = RESOLVE_NO_SYMLINKS | (base == no_folder ? 0 : RESOLVE_BENEATH);
  const int from = base == no_folder ? AT_FDCWD : base;
  for (;;) {
    const auto opened = ::syscall(SYS_openat2, from, path.c_str(), &how, sizeof how);
    if (opened >= 0) return static_cast<int>(opened);
    if (errno != EINTR) return -errno;
  }
}

int walk_by_parts(int base, const std::string& path) {
  // Made before anything is opened, and cut into names in place: behind it nothing can throw.
  std::string names = path;
  std::replace(names.begin(), names.end(), '/', '\0');
  int at = base == no_folder ? ::open("/", only_to_find) : ::openat(base, ".", only_to_find);
  for (std::size_t start = 0; at >= 0 && start < names.size();) {
    const std::string_view part = names.c_str() + start;
    start += part.size() + 1;
    if (part.empty()) continue;
    const int above = at;
    errno = EXDEV;
    at = part == ".." ? -1 : ::openat(above, part.data(), only_to_find);
    const int problem = errno;
    ::close(above);
    errno = problem;
  }
  return at < 0 ? -errno : at;
}

}  // namespace tare
