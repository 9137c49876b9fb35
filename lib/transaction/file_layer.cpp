#include "lib/transaction/file_layer.hpp"

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "lib/base/error.hpp"

namespace tare {
namespace {

struct ErrorHint {
  int number;
  const char* hint;
};

constexpr std::array error_hints = {
    ErrorHint{EACCES, "you have no right to do that there: ask the owner, or edit a copy"},
    ErrorHint{EPERM, "the file is not yours, or is marked immutable (lsattr shows it): edit a copy"},
    ErrorHint{EROFS, "the file system is read-only: edit a copy elsewhere, or mount it for writing"},
    ErrorHint{ENOSPC, "the disk is full: make room and try again"},
    ErrorHint{EDQUOT, "your disk quota is used up: make room and try again"},
    ErrorHint{EMFILE, "too many files are open: raise the limit (ulimit -n)"},
    ErrorHint{ETXTBSY, "the file is being executed: stop that first"},
};

}  // namespace

void throw_file_error(const std::string& path, int error_number) {
  std::string hint;
  for (const ErrorHint& known : error_hints) {
    if (known.number == error_number) hint = known.hint;
  }
  throw Error(Status::io, path + ": " + std::generic_category().message(error_number), hint, error_number);
}

std::int64_t checked(std::int64_t result, const std::string& path) {
  if (result < 0) throw_file_error(path, static_cast<int>(-result));
  return result;
}

OpenFile::OpenFile(OpenFile&& other) noexcept
    : files_(other.files_), path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) files_->close(descriptor_);
}

struct stat OpenFile::status() const {
  struct stat status {};
  checked(files_->fstat(descriptor_, status), path_);
  return status;
}

Bytes OpenFile::read(Span range) const {
  Bytes bytes(range.size);
  std::span<std::byte> rest = bytes;
  while (!rest.empty()) {
    const std::uint64_t offset = range.offset + (range.size - rest.size());
    const auto count = checked(files_->pread(descriptor_, rest, offset), path_);
    if (count == 0) throw Error(Status::io, path_ + ": ends before byte " + std::to_string(range.end()));
    rest = rest.subspan(static_cast<std::size_t>(count));
  }
  return bytes;
}

void OpenFile::write(std::uint64_t offset, ByteView bytes) const {
  while (!bytes.empty()) {
    const auto count = checked(files_->pwrite(descriptor_, bytes, offset), path_);
    if (count == 0) throw_file_error(path_, EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void OpenFile::resize(std::uint64_t size) const {
  checked(files_->ftruncate(descriptor_, size), path_);
}

void OpenFile::sync() const {
  checked(files_->fsync(descriptor_), path_);
}

void OpenFile::sync_data() const {
  checked(files_->fdatasync(descriptor_), path_);
}

std::string joined(const std::string& folder, const std::string& name) {
  return folder.ends_with('/') ? folder + name : folder + '/' + name;
}

}  // namespace tare
