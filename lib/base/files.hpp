// Where a checkpoint's files are: this machine's file system, a server, or storage that a caller of the library reads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/source.hpp"

namespace tare {

enum class FileType : std::uint8_t { absent, file, folder, link, other };

struct FileEntry {
  std::string name;
  FileType type = FileType::absent;  ///< links are not followed
};

/// Paths have '/' between their parts.
class Files {
 public:
  virtual ~Files() = default;

  /// What `path` leads to, its links followed: never `link`.
  [[nodiscard]] virtual FileType type(const std::string& path) const = 0;
  /// In any order; one more than limits::max_files at most. Throws `io` where the folder cannot be read.
  [[nodiscard]] virtual std::vector<FileEntry> list(const std::string& folder) const = 0;
  /// Throws `io` or `not_found` where it cannot be opened, or is not a regular file.
  [[nodiscard]] virtual std::shared_ptr<const Source> open(const std::string& path) const = 0;
  /// May all of these, and reads of the sources, be called by several threads at once?
  [[nodiscard]] virtual bool is_shareable() const { return true; }
  /// What a link says, as it says it; nothing where `path` is no link.
  [[nodiscard]] virtual std::optional<std::string> link_target(const std::string& /*path*/) const { return {}; }
  /// Does `path` lie in `folder` when all links are followed? No, where it leads nowhere.
  [[nodiscard]] virtual bool is_inside(const std::string& /*path*/, const std::string& /*folder*/) const {
    return true;
  }
};

/// http://, https://, s3://, gs:// or hf://, in any case of letters: no path of the file system.
bool is_url(std::string_view path);

/// The file system. Its sources are FileSources.
const Files& local_files();

}  // namespace tare
