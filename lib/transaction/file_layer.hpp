// The operating system's files, as the transaction engine sees them: an interface, so that a test can stop the engine
// at any call and choose which of the unsynced changes the disk kept.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/base/files.hpp"

namespace tare {

/// Where an absolute path starts.
inline constexpr int no_folder = -1;

/// System calls, one for one. Every function that returns an integer returns the negative errno where it fails. Names
/// are single ones, in a folder that is open.
class FileLayer {
 public:
  virtual ~FileLayer() = default;

  /// Opens a folder to reach names in it. `path` is absolute where `base` is `no_folder`; else it lies below that
  /// folder and cannot leave it. Where any part of it is a link: -ELOOP or -ENOTDIR.
  virtual int open_folder(int base, const std::string& path) = 0;
  /// Does not follow a link (-ELOOP), and does not wait for a pipe or a device.
  virtual int open_at(int folder, const std::string& name, int flags, mode_t mode) = 0;
  virtual void close(int descriptor) noexcept = 0;
  virtual std::int64_t pread(int descriptor, std::span<std::byte> to, std::uint64_t offset) = 0;
  virtual std::int64_t pwrite(int descriptor, ByteView from, std::uint64_t offset) = 0;
  virtual int fsync(int descriptor) = 0;
  virtual int fdatasync(int descriptor) = 0;
  virtual int ftruncate(int descriptor, std::uint64_t size) = 0;
  virtual int fstat(int descriptor, struct stat& into) = 0;
  virtual int stat_at(int folder, const std::string& name, struct stat& into) = 0;
  virtual int fchmod(int descriptor, mode_t mode) = 0;
  virtual int fchown(int descriptor, uid_t user, gid_t group) = 0;
  /// Sets the time of the last change and leaves the time of the last access.
  virtual int set_mtime(int descriptor, timespec mtime) = 0;

  virtual int rename_at(int from_folder, const std::string& from, int to_folder, const std::string& to) = 0;
  virtual int link_at(int from_folder, const std::string& from, int to_folder, const std::string& to) = 0;
  virtual int unlink_at(int folder, const std::string& name) = 0;
  virtual int mkdir_at(int folder, const std::string& name, mode_t mode) = 0;
  virtual int rmdir_at(int folder, const std::string& name) = 0;
  /// Up to `most` entries.
  virtual int list(int folder, std::size_t most, std::vector<FileEntry>& into) = 0;
  /// A path that the user named, without symlinks, dots and repeated slashes, as realpath(3).
  virtual int resolve(const std::string& path, std::string& into) = 0;

  /// Locks the whole file for writing, for as long as the descriptor is open; -EAGAIN where another holds it.
  virtual int try_lock(int descriptor) = 0;
  /// 1 where another holds the lock, 0 where nobody does. Takes no lock.
  virtual int is_locked(int descriptor) = 0;

  /// Makes `to` share all blocks of `from` (a reflink), where the file system can.
  virtual int clone(int from, int to) = 0;
  /// Copies up to `size` bytes, by sharing blocks where the file system can; how many, 0 at the end of `from`.
  virtual std::int64_t copy_range(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
                                  std::uint64_t size) = 0;
  /// The first part of `range` that is no hole, as far as the file system tells holes from data; empty, at the end of
  /// `range`, where only a hole is left.
  virtual Span data_in(int /*descriptor*/, Span range) { return range; }
  /// Copies extended attributes (access lists among them), as far as the file system and the rights allow.
  virtual void copy_attributes(int from, int to) = 0;
  /// Has the file an access list, of which its mode says only the most that anybody on it has?
  virtual bool has_access_list(int /*descriptor*/) { return false; }

  virtual timespec now() = 0;
  virtual uid_t user() = 0;
  /// May several threads call at once?
  [[nodiscard]] virtual bool is_shareable() const { return false; }
};

/// The real one.
FileLayer& system_files();

/// Throws `io` that names `path`, with what to do about the usual errors.
[[noreturn]] void throw_file_error(const std::string& path, int error_number);

/// Throws where `result` is a negative errno; otherwise returns it.
std::int64_t checked(std::int64_t result, const std::string& path);

/// Makes a path where one is asked for. What a call has done is done: no path may fail to be made behind it, as memory
/// can, unless the call failed itself.
template <typename Make>
concept PathMaker = requires(const Make& make) {
  { make() } -> std::convertible_to<std::string>;
};

template <PathMaker Make>
std::int64_t checked(std::int64_t result, const Make& path) {
  return result < 0 ? checked(result, path()) : result;
}

/// An open file or folder, closed at the end of its life. Functions throw `io` that names the path.
class OpenFile {
 public:
  /// Takes over what `open` gave: a descriptor, closed where its path cannot be made; or the negative errno, which it
  /// throws.
  template <PathMaker Make>
  static OpenFile adopt(FileLayer& files, int opened, const Make& path) {
    OpenFile file(files, opened);
    file.path_ = path();
    checked(opened, file.path_);
    return file;
  }
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&&) = delete;
  ~OpenFile();

  [[nodiscard]] FileLayer& files() const { return *files_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] struct stat status() const;
  [[nodiscard]] std::uint64_t size() const { return static_cast<std::uint64_t>(status().st_size); }
  /// Throws where the range passes the end.
  [[nodiscard]] Bytes read(Span range) const;
  void write(std::uint64_t offset, ByteView bytes) const;
  void resize(std::uint64_t size) const;
  void sync() const;
  void sync_data() const;

 private:
  OpenFile(FileLayer& files, int opened) : files_(&files), descriptor_(opened) {}

  FileLayer* files_;
  std::string path_;
  int descriptor_;
};

/// An open file, and what it was when it was opened.
struct OpenedFile {
  OpenFile file;
  struct stat status;
};

std::string joined(const std::string& folder, const std::string& name);

}  // namespace tare
