#include "tools/standard_input.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"

using namespace tare;

namespace {

constexpr const char* told_as = "standard input";
constexpr std::size_t piece_bytes = std::size_t{1} << 20;

Bytes read_to_end() {
  Bytes bytes;
  for (;;) {
    const std::size_t before = bytes.size();
    bytes.resize(before + piece_bytes);
    const ssize_t count = ::read(STDIN_FILENO, bytes.data() + before, piece_bytes);
    bytes.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0 && errno != EINTR) throw_io(told_as, errno);
    if (count == 0) return bytes;
    if (bytes.size() > limits::max_piped_bytes) {
      throw Error(Status::refused, fmt::format("{}: more than {} bytes", told_as, limits::max_piped_bytes),
                  "save it as a file, of which only what is needed is read");
    }
  }
}

std::shared_ptr<const Source> opened() {
  struct stat status {};
  if (::fstat(STDIN_FILENO, &status) != 0) throw_io(told_as, errno);
  if (!S_ISREG(status.st_mode)) return std::make_shared<const MemorySource>(told_as, read_to_end());
  auto file = std::make_shared<const FileSource>("/proc/self/fd/0");
  const Span whole{0, file->size()};
  return std::make_shared<const WindowSource>(std::move(file), whole, told_as);
}

class StandardInput final : public Files {
 public:
  [[nodiscard]] FileType type(const std::string& path) const override {
    return path == standard_input_path ? FileType::file : FileType::absent;
  }
  [[nodiscard]] std::vector<FileEntry> list(const std::string&) const override { return {}; }
  [[nodiscard]] std::shared_ptr<const Source> open(const std::string&) const override {
    if (source_ == nullptr) source_ = opened();
    return source_;
  }
  [[nodiscard]] bool is_shareable() const override { return false; }

 private:
  mutable std::shared_ptr<const Source> source_;  ///< a pipe can be read once
};

}  // namespace

const Files& standard_input() {
  static const StandardInput input;
  return input;
}
