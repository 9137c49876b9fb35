#include "capi/src/caller_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"

namespace tare::capi {
namespace {

class CallerSource final : public Source {
 public:
  CallerSource(const tare_source& source, std::string path, std::uint64_t size)
      : source_(source), path_(std::move(path)), size_(size) {}

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] const std::string& name() const override { return path_; }
  void read(std::uint64_t offset, std::span<std::byte> to) const override {
    require_inside(offset, to.size());
    if (to.empty()) return;
    const int32_t result = source_.read(source_.context, path_.c_str(), offset, to.data(), to.size());
    if (result != 0) throw_io(path_, result);
  }
  using Source::read;

 private:
  tare_source source_;
  std::string path_;
  std::uint64_t size_;
};

/// What `list` is given: nothing may be thrown through the caller's code.
struct Listing {
  std::vector<FileEntry> entries;
  std::exception_ptr problem;
};

int32_t add_entry(void* listing, const char* name, int32_t is_folder) {
  auto& into = *static_cast<Listing*>(listing);
  if (name == nullptr || into.problem || into.entries.size() > limits::max_files) return EINVAL;
  try {
    const std::string_view given = name;
    if (!given.empty() && given != "." && given != ".." && given.find('/') == given.npos) {
      into.entries.push_back({name, is_folder != 0 ? FileType::folder : FileType::file});
    }
  } catch (...) {
    into.problem = std::current_exception();
    return ENOMEM;
  }
  return 0;
}

}  // namespace

CallerFiles::CallerFiles(const tare_source& source) : source_{} {
  // A caller that was built with an older header gives less: what it does not know of stays NULL.
  const std::uint64_t size = std::min<std::uint64_t>(source.struct_size, sizeof source_);
  std::memcpy(&source_, &source, size);
  constexpr std::uint64_t least = offsetof(tare_source, list);
  if (source.struct_size < least || source_.size == nullptr || source_.read == nullptr) {
    throw Error(Status::invalid_argument, "the source has no size or no read",
                "set struct_size to sizeof(tare_source), and both functions");
  }
}

FileType CallerFiles::type(const std::string& path) const {
  std::uint64_t size = 0;
  const int32_t result = source_.size(source_.context, path.c_str(), &size);
  if (result == EISDIR) return FileType::folder;
  if (result == ENOENT || result == ENOTDIR) return FileType::absent;
  if (result != 0) throw_io(path, result);
  return FileType::file;
}

std::vector<FileEntry> CallerFiles::list(const std::string& folder) const {
  if (source_.list == nullptr) {
    throw Error(Status::unsupported, folder + ": a folder, and the source has no list", "give one, or a file");
  }
  Listing listing;
  const int32_t result = source_.list(source_.context, folder.c_str(), add_entry, &listing);
  if (listing.problem) std::rethrow_exception(listing.problem);
  if (result != 0) throw_io(folder, result);
  return std::move(listing.entries);
}

std::shared_ptr<const Source> CallerFiles::open(const std::string& path) const {
  std::uint64_t size = 0;
  const int32_t result = source_.size(source_.context, path.c_str(), &size);
  if (result != 0) throw_io(path, result);
  return std::make_shared<const CallerSource>(source_, path, size);
}

}  // namespace tare::capi
