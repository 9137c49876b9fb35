#include <algorithm>
#include <filesystem>

#include "lib/base/error.hpp"
#include "lib/base/files.hpp"
#include "lib/base/limits.hpp"

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

/// As the folder itself says, where it does: no file is asked.
FileType type_of(const fs::directory_entry& entry) {
  std::error_code ignored;
  if (entry.is_symlink(ignored)) return FileType::link;
  if (entry.is_directory(ignored)) return FileType::folder;
  return entry.is_regular_file(ignored) ? FileType::file : FileType::other;
}

class LocalFiles final : public Files {
 public:
  [[nodiscard]] FileType type(const std::string& path) const override {
    std::error_code ignored;
    return type_of(fs::status(path, ignored));
  }

  [[nodiscard]] std::vector<FileEntry> list(const std::string& folder) const override {
    std::vector<FileEntry> entries;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
      if (entries.size() > limits::max_files) break;
      entries.push_back({entry->path().filename().string(), type_of(*entry)});
    }
    if (error) throw_io(folder, error.value());
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
    std::error_code error;
    const fs::path inner = fs::canonical(path, error);
    const fs::path outer = error ? fs::path() : fs::canonical(folder, error);
    return !error && std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
  }
};

}  // namespace

const Files& local_files() {
  static const LocalFiles files;
  return files;
}

}  // namespace tare
