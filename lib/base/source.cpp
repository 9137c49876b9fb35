#include "lib/base/source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "lib/base/error.hpp"

namespace tare {
void Source::require_inside(std::uint64_t offset, std::uint64_t wanted) const {
  if (offset <= size() && wanted <= size() - offset) return;
  throw Error(Status::corrupt,
              fmt::format("{}: {} bytes are wanted at offset {}, but it ends at {}", name(), wanted, offset, size()),
              "the file is cut short, or a length in it is wrong");
}

Bytes Source::read(Span range) const {
  require_inside(range.offset, range.size);
  Bytes bytes(range.size);
  read(range.offset, bytes);
  return bytes;
}

FileSource::FileSource(std::string path) : path_(std::move(path)) {
  // O_NONBLOCK: a named pipe must be refused, not waited for.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0) throw_io(path_, errno);
  if (::fstat(descriptor_, &status_) == 0 && S_ISREG(status_.st_mode)) return;
  ::close(descriptor_);
  throw Error(Status::io, path_ + ": not a regular file");
}

FileSource::~FileSource() {
  ::close(descriptor_);
}

void FileSource::read(std::uint64_t offset, std::span<std::byte> to) const {
  require_inside(offset, to.size());
  while (!to.empty()) {
    const ssize_t count = ::pread(descriptor_, to.data(), to.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_io(path_, errno);
    if (count == 0) throw Error(Status::io, path_ + ": became shorter while it was read");
    to = to.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void MemorySource::read(std::uint64_t offset, std::span<std::byte> to) const {
  require_inside(offset, to.size());
  if (!to.empty()) std::memcpy(to.data(), bytes_.data() + offset, to.size());
}

WindowSource::WindowSource(std::shared_ptr<const Source> whole, Span window, std::string name)
    : whole_(std::move(whole)), window_(window), name_(std::move(name)) {
  if (window_.offset <= whole_->size() && window_.size <= whole_->size() - window_.offset) return;
  throw Error(Status::corrupt, fmt::format("{}: {} bytes at offset {} pass the end of {}", name_, window_.size,
                                           window_.offset, whole_->name()));
}

void WindowSource::read(std::uint64_t offset, std::span<std::byte> to) const {
  require_inside(offset, to.size());
  whole_->read(window_.offset + offset, to);
}

}  // namespace tare
