// The file layer that is the operating system.
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "lib/base/local_paths.hpp"
#include "lib/base/standard_streams.hpp"
#include "lib/transaction/file_layer.hpp"
#include "lib/transaction/walk.hpp"

namespace tare {
namespace {

/// The call's result, or the negative errno; calls that a signal interrupted are made again.
template <typename Call>
auto result_of(Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0) return result;
    if (errno != EINTR) return static_cast<decltype(result)>(-errno);
  }
}

struct flock whole_file_lock() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

/// Of every open of a name: links are not followed, pipes and devices not waited for.
constexpr int never_elsewhere = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;

class SystemFiles final : public FileLayer {
 public:
  int open_folder(int base, const std::string& path) override;
  int open_at(int folder, const std::string& name, int flags, mode_t mode) override {
    return result_of(
        [&] { return above_standard_streams(::openat(folder, name.c_str(), flags | never_elsewhere, mode)); });
  }
  void close(int descriptor) noexcept override { ::close(descriptor); }
  std::int64_t pread(int descriptor, std::span<std::byte> to, std::uint64_t offset) override {
    return result_of([&] { return ::pread(descriptor, to.data(), to.size(), static_cast<off_t>(offset)); });
  }
  std::int64_t pwrite(int descriptor, ByteView from, std::uint64_t offset) override {
    return result_of([&] { return ::pwrite(descriptor, from.data(), from.size(), static_cast<off_t>(offset)); });
  }
  int fsync(int descriptor) override {
    return result_of([&] { return ::fsync(descriptor); });
  }
  int fdatasync(int descriptor) override {
    return result_of([&] { return ::fdatasync(descriptor); });
  }
  int ftruncate(int descriptor, std::uint64_t size) override {
    return result_of([&] { return ::ftruncate(descriptor, static_cast<off_t>(size)); });
  }
  int fstat(int descriptor, struct stat& into) override {
    return result_of([&] { return ::fstat(descriptor, &into); });
  }
  int stat_at(int folder, const std::string& name, struct stat& into) override {
    return result_of([&] { return ::fstatat(folder, name.c_str(), &into, AT_SYMLINK_NOFOLLOW); });
  }
  int fchmod(int descriptor, mode_t mode) override {
    return result_of([&] { return ::fchmod(descriptor, mode); });
  }
  int fchown(int descriptor, uid_t user, gid_t group) override {
    return result_of([&] { return ::fchown(descriptor, user, group); });
  }
  int set_mtime(int descriptor, timespec mtime) override {
    const timespec times[2] = {{0, UTIME_OMIT}, mtime};
    return result_of([&] { return ::futimens(descriptor, times); });
  }
  int rename_at(int from_folder, const std::string& from, int to_folder, const std::string& to) override {
    return result_of([&] { return ::renameat(from_folder, from.c_str(), to_folder, to.c_str()); });
  }
  int link_at(int from_folder, const std::string& from, int to_folder, const std::string& to) override {
    return result_of([&] { return ::linkat(from_folder, from.c_str(), to_folder, to.c_str(), 0); });
  }
  int unlink_at(int folder, const std::string& name) override {
    return result_of([&] { return ::unlinkat(folder, name.c_str(), 0); });
  }
  int mkdir_at(int folder, const std::string& name, mode_t mode) override {
    return result_of([&] { return ::mkdirat(folder, name.c_str(), mode); });
  }
  int rmdir_at(int folder, const std::string& name) override {
    return result_of([&] { return ::unlinkat(folder, name.c_str(), AT_REMOVEDIR); });
  }
  int list(int folder, std::size_t most, std::vector<FileEntry>& into) override {
    return -list_folder(folder, most, into);
  }
  int resolve(const std::string& path, std::string& into) override { return -resolve_path(path, into); }
  int try_lock(int descriptor) override {
    // Open-file-description locks: they hold between threads too, and on NFS between machines.
    struct flock lock = whole_file_lock();
    const int result = result_of([&] { return ::fcntl(descriptor, F_OFD_SETLK, &lock); });
    return result == -EACCES ? -EAGAIN : result;
  }
  int is_locked(int descriptor) override {
    struct flock lock = whole_file_lock();
    const int result = result_of([&] { return ::fcntl(descriptor, F_OFD_GETLK, &lock); });
    return result < 0 ? result : lock.l_type != F_UNLCK;
  }
  int clone(int from, int to) override {
    return result_of([&] { return ::ioctl(to, FICLONE, from); });
  }
  std::int64_t copy_range(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
                          std::uint64_t size) override;
  Span data_in(int descriptor, Span range) override;
  void copy_attributes(int from, int to) override;
  bool has_access_list(int descriptor) override {
    return ::fgetxattr(descriptor, "system.posix_acl_access", nullptr, 0) > 0;
  }
  timespec now() override {
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME, &time);
    return time;
  }
  uid_t user() override { return ::geteuid(); }
  [[nodiscard]] bool is_shareable() const override { return true; }
};

int SystemFiles::open_folder(int base, const std::string& path) {
  const int opened = walk_at_once(base, path);
  return opened == -ENOSYS || opened == -EPERM ? walk_by_parts(base, path) : opened;
}

std::int64_t SystemFiles::copy_range(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
                                     std::uint64_t size) {
  auto in = static_cast<off_t>(from_offset);
  auto out = static_cast<off_t>(to_offset);
  const auto copied = result_of([&] { return ::copy_file_range(from, &in, to, &out, size, 0); });
  // 0 can mean "cannot" on some file systems, so that reading decides where the end is.
  if (copied > 0) return copied;
  static constexpr std::size_t piece_bytes = std::size_t{1} << 20;
  Bytes piece(size < piece_bytes ? static_cast<std::size_t>(size) : piece_bytes);
  const std::int64_t read = pread(from, piece, from_offset);
  return read <= 0 ? read : pwrite(to, ByteView(piece).first(static_cast<std::size_t>(read)), to_offset);
}

Span SystemFiles::data_in(int descriptor, Span range) {
  const auto offset = static_cast<off_t>(range.offset);
  const off_t begin = ::lseek(descriptor, offset, SEEK_DATA);
  if (begin < 0 && errno != ENXIO) return range;  // this file system knows of no holes
  if (begin < 0 || static_cast<std::uint64_t>(begin) >= range.end()) return {range.end(), 0};
  const off_t end = ::lseek(descriptor, begin, SEEK_HOLE);
  const std::uint64_t until = end > begin ? std::min(static_cast<std::uint64_t>(end), range.end()) : range.end();
  return {static_cast<std::uint64_t>(begin), until - static_cast<std::uint64_t>(begin)};
}

void SystemFiles::copy_attributes(int from, int to) {
  const ssize_t names_size = ::flistxattr(from, nullptr, 0);
  if (names_size <= 0) return;
  std::string names(static_cast<std::size_t>(names_size), '\0');
  const ssize_t listed = ::flistxattr(from, names.data(), names.size());
  names.resize(listed > 0 ? static_cast<std::size_t>(listed) : 0);
  for (std::size_t at = 0; at < names.size();) {
    const std::string name = names.c_str() + at;
    at += name.size() + 1;
    const ssize_t size = ::fgetxattr(from, name.c_str(), nullptr, 0);
    if (size < 0) continue;
    Bytes value(static_cast<std::size_t>(size));
    const ssize_t got = ::fgetxattr(from, name.c_str(), value.data(), value.size());
    if (got == size) ::fsetxattr(to, name.c_str(), value.data(), value.size(), 0);
  }
}

}  // namespace

FileLayer& system_files() {
  static SystemFiles files;
  return files;
}

}  // namespace tare
