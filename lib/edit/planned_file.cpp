#include "lib/edit/planned_file.hpp"

#include <utility>

#include "lib/base/versioned_source.hpp"

namespace tare {

std::shared_ptr<const Source> planned_source(const Files& files, const std::string& path) {
  return files.type(path) == FileType::file ? files.open(path) : nullptr;
}

FileEdit planned_edit(std::string path, const Source& source) {
  FileEdit edit{std::move(path), {}, {}, version_of(source)};
  if (const auto* file = dynamic_cast<const FileSource*>(&source)) edit.planned = file->status();
  return edit;
}

}  // namespace tare
