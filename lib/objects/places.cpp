#include "lib/objects/places.hpp"

#include <algorithm>
#include <cerrno>

#include "lib/base/error.hpp"

namespace tare {
namespace {

std::string without_slash(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

std::vector<std::string> folders_to_look_into(const std::string& path) {
  const std::string named = without_slash(path);
  std::vector<std::string> folders{named};
  for (std::string& folder : folders_above(named)) folders.push_back(std::move(folder));
  return folders;
}

std::vector<StoredRecord> listable_records(const ObjectHome& home) {
  try {
    return home.records();
  } catch (const Error& error) {
    if (error.detail != EACCES) throw;
    return {};
  }
}

std::optional<StoredJournal> readable_pending(const ObjectHome& home) {
  try {
    return home.read(home.pending());
  } catch (const Error& error) {
    if (error.detail != EACCES) throw;
    return std::nullopt;
  }
}

bool touches(const ObjectHome& home, const Journal& journal, const std::string& path) {
  const std::string named = without_slash(path);
  return std::any_of(journal.files.begin(), journal.files.end(), [&](const FileRecord& file) {
    const std::string object = home.path(file);
    return object == named || object.starts_with(named + "/");
  });
}

}  // namespace tare
