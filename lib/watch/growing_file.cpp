#include "lib/watch/growing_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"

namespace tare {

GrowingFile::GrowingFile(std::string path)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  if (descriptor_ < 0) throw_io(path_, errno);
  if (::fstat(descriptor_, &status_) == 0 && S_ISREG(status_.st_mode)) return;
  ::close(descriptor_);
  throw Error(Status::io, escaped(path_) + ": is no regular file");
}

GrowingFile::~GrowingFile() {
  ::close(descriptor_);
}

void GrowingFile::refresh() {
  if (::fstat(descriptor_, &status_) != 0) throw_io(path_, errno);
}

void GrowingFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  require_inside(offset, to.size());
  while (!to.empty()) {
    const ssize_t count = ::pread(descriptor_, to.data(), to.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_io(path_, errno);
    if (count == 0) throw Error(Status::corrupt, escaped(path_) + ": became shorter while it was read");
    offset += static_cast<std::uint64_t>(count);
    to = to.subspan(static_cast<std::size_t>(count));
  }
}

}  // namespace tare
