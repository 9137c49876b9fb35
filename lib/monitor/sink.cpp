#include "lib/monitor/sink.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "lib/base/error.hpp"
#include "lib/base/standard_streams.hpp"

namespace tare::monitor {
namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : descriptor_(above_standard_streams(
            open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, mode_t{0666}))) {
    if (descriptor_ < 0) throw_io(path, errno);
  }
  ~OpenFile() { close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// 0, or an errno.
int write_all(int descriptor, ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

void Sink::take(const ObservedStep& step) noexcept {
  if (!failure_.empty()) return;
  try {
    write(step);
  } catch (const std::bad_alloc&) {
    failure_ = "out of memory";  // short enough to need none
  } catch (const std::exception& error) {
    try {
      failure_ = error.what();
    } catch (const std::bad_alloc&) {
      failure_ = "out of memory";
    }
  }
}

void append_whole(const std::string& path, ByteView head, ByteView bytes) {
  const OpenFile file(path);
  struct stat before {};
  if (fstat(file.descriptor(), &before) != 0) throw_io(path, errno);
  const bool is_file = S_ISREG(before.st_mode);
  int error = is_file && before.st_size == 0 ? write_all(file.descriptor(), head) : 0;
  if (error == 0) error = write_all(file.descriptor(), bytes);
  if (error == 0) return;
  // What is cut off would spoil what another start of the run puts behind it.
  if (is_file && ftruncate(file.descriptor(), before.st_size) != 0) error = errno;
  throw_io(path, error);
}

}  // namespace tare::monitor
