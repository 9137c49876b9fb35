#include <filesystem>
#include <system_error>

#include "lib/base/error.hpp"
#include "lib/base/files.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/local_paths.hpp"

namespace tare {
namespace {

namespace fs = std::filesystem;

FileType type_of(fs::file_status status) {
  switch (status.type()) {
    case fs::file_type::not_found:
    case fs::file_type::none:
      return FileType::absent;
    case fs::file_type::regular:
      return FileType::file;
    case fs::file_type::directory:
      return FileType::folder;
    case fs::file_type::symlink:
      return FileType::link;
    default:
      return FileType::other;
  }
}

class LocalFiles final : public Files {
 public:
  [[nodiscard]] FileType type(const std::string& path) const override {
    std::error_code ignored;
    return type_of(fs::status(path, ignored));
  }

  [[nodiscard]] std::vector<FileEntry> list(const std::string& folder) const override {
    std::vector<FileEntry> entries;
    const int error = list_folder(folder, limits::max_files + 1, entries);
    if (error != 0) throw_io(folder, error);
    return entries;
  }

  [[nodiscard]] std::shared_ptr<const Source> open(const std::string& path) const override {
    return std::make_shared<const FileSource>(path);
  }

  [[nodiscard]] std::optional<std::string> link_target(const std::string& path) const override {
    std::error_code error;
    if (!fs::is_symlink(fs::symlink_status(path, error))) return std::nullopt;
    return fs::read_symlink(path, error).string();
  }

  [[nodiscard]] bool is_inside(const std::string& path, const std::string& folder) const override {
    std::string inner;
    std::string outer;
    if (resolve_path(path, inner) != 0 || resolve_path(folder, outer) != 0) return false;
    if (!outer.ends_with('/')) outer += '/';  // all but the root
    return (inner + "/").starts_with(outer);
  }
};

}  // namespace

const Files& local_files() {
  static const LocalFiles files;
  return files;
}

}  // namespace tare
