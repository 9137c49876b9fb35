#include "lib/base/source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/file_identity.hpp"
#include "lib/base/huge_pages.hpp"

namespace tare {

const std::shared_ptr<Budget>& Source::budget() const {
  std::call_once(has_budget_, [&] {
    if (budget_ == nullptr) budget_ = std::make_shared<Budget>(name(), size());
  });
  return budget_;
}

void Source::count_in(const std::shared_ptr<Budget>& whole) const {
  std::call_once(has_budget_, [&] {
    if (budget_ != nullptr) return;
    whole->grow(size());
    budget_ = std::make_shared<Budget>(name(), size(), whole);
  });
}

void Source::require_inside(std::uint64_t offset, std::uint64_t wanted) const {
  if (offset <= size() && wanted <= size() - offset) return;
  throw Error(Status::corrupt,
              fmt::format("{}: {} bytes are wanted at offset {}, but it ends at {}", name(), wanted, offset, size()),
              "the file is cut short, or a length in it is wrong");
}

Bytes Source::read(Span range) const {
  require_inside(range.offset, range.size);
  Bytes bytes;
  bytes.reserve(range.size);
  prefer_huge_pages(bytes.data(), range.size);
  bytes.resize(range.size);
  read(range.offset, bytes);
  return bytes;
}

namespace {

/// Smaller files may as well be read whole by the kernel.
constexpr off_t worth_reading_in_parts = 1 << 20;

int opened(const std::string& path) {
  // O_NONBLOCK: a named pipe must be refused, not waited for.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) throw_io(path, errno);
  return descriptor;
}

/// Small parts far apart are read. The kernel takes them for the beginning of more: of a model with a scale after each
/// weight it would fetch every byte.
void read_nothing_ahead(int descriptor, const struct stat& status) {
  if (status.st_size > worth_reading_in_parts) ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_RANDOM);
}

void read_all(int descriptor, const std::string& path, std::uint64_t offset, std::span<std::byte> to) {
  while (!to.empty()) {
    const ssize_t count = ::pread(descriptor, to.data(), to.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_io(path, errno);
    if (count == 0) throw Error(Status::io, path + ": became shorter while it was read");
    to = to.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

/// Closes at the end of its life.
struct Descriptor {
  int number;
  explicit Descriptor(int given) : number(given) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(number); }
};

}  // namespace

FileSource::FileSource(std::string path) : path_(std::move(path)), descriptor_(opened(path_)) {
  if (::fstat(descriptor_, &status_) != 0 || !S_ISREG(status_.st_mode)) {
    ::close(descriptor_);
    throw Error(Status::io, path_ + ": not a regular file");
  }
  read_nothing_ahead(descriptor_, status_);
}

FileSource::~FileSource() {
  park();
}

void FileSource::park() const {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

void FileSource::read(std::uint64_t offset, std::span<std::byte> to) const {
  require_inside(offset, to.size());
  if (descriptor_ >= 0) return read_all(descriptor_, path_, offset, to);
  const Descriptor again(opened(path_));
  struct stat now {};
  if (::fstat(again.number, &now) != 0 || !is_same_file(now, status_)) {
    throw Error(Status::io, path_ + ": changed while it was read", "try again once it is saved");
  }
  read_nothing_ahead(again.number, now);
  read_all(again.number, path_, offset, to);
}

void MemorySource::read(std::uint64_t offset, std::span<std::byte> to) const {
  require_inside(offset, to.size());
  if (!to.empty()) std::memcpy(to.data(), bytes_.data() + offset, to.size());
}

WindowSource::WindowSource(std::shared_ptr<const Source> whole, Span window, std::string name)
    : Source(whole->budget()), whole_(std::move(whole)), window_(window), name_(std::move(name)) {
  if (window_.offset <= whole_->size() && window_.size <= whole_->size() - window_.offset) return;
  throw Error(Status::corrupt, fmt::format("{}: {} bytes at offset {} pass the end of {}", name_, window_.size,
                                           window_.offset, whole_->name()));
}

void WindowSource::read(std::uint64_t offset, std::span<std::byte> to) const {
  require_inside(offset, to.size());
  whole_->read(window_.offset + offset, to);
}

}  // namespace tare
