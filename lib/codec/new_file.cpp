#include "lib/codec/new_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/local_paths.hpp"
#include "lib/base/standard_streams.hpp"

namespace tare {
namespace {

constexpr int most_attempts = 100;

/// What a link leads to, so that it stays one.
std::string resolved(const std::string& path) {
  std::string real;
  return resolve_path(path, real) == 0 ? real : path;
}

/// An open file that is removed unless it was renamed.
class Temporary {
 public:
  explicit Temporary(const std::string& target) {
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
      path_ = folder_of(target) + "/.tare-" + std::to_string(getpid()) + "-" + std::to_string(attempt) + ".tmp";
      descriptor_ = above_standard_streams(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (descriptor_ >= 0) return;
      if (errno != EEXIST) break;
    }
    throw_io(target, errno);
  }
  ~Temporary() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!path_.empty()) unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  void take_mode_of(const std::string& target) const {
    struct stat there {};
    if (stat(target.c_str(), &there) == 0) fchmod(descriptor_, there.st_mode & 07777);
  }

  void write(ByteView bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) throw_io(path_, errno);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void become(const std::string& target) {
    if (fsync(descriptor_) != 0) throw_io(path_, errno);
    const int closed = close(descriptor_);
    descriptor_ = -1;
    if (closed != 0) throw_io(target, errno);
    if (rename(path_.c_str(), target.c_str()) != 0) throw_io(target, errno);
    path_.clear();
  }

 private:
  std::string path_;
  int descriptor_ = -1;
};

/// Renaming would put a file in the place of a device or a pipe: /dev/null, for root.
void require_replaceable(const std::string& target) {
  struct stat there {};
  if (stat(target.c_str(), &there) != 0 || S_ISREG(there.st_mode)) return;
  throw Error(Status::refused, target + ": is there, and is no file that could be replaced", "name another one");
}

/// So that the new name is there after a power cut too. Some file systems cannot: no reason to fail.
void sync_folder(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

}  // namespace

void write_whole_file(const std::string& path, ByteView bytes) {
  write_whole_file(path, std::span(&bytes, 1));
}

void write_whole_file(const std::string& path, std::span<const ByteView> pieces) {
  const std::string target = resolved(path);
  require_replaceable(target);
  const std::string folder = folder_of(target);
  Temporary file(target);
  file.take_mode_of(target);
  for (const ByteView piece : pieces) file.write(piece);
  file.become(target);
  sync_folder(folder);
}

}  // namespace tare
