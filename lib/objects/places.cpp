#include "lib/objects/places.hpp"

#include <algorithm>

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

bool touches(const ObjectHome& home, const Journal& journal, const std::string& path) {
  const std::string named = without_slash(path);
  return std::any_of(journal.files.begin(), journal.files.end(), [&](const FileRecord& file) {
    const std::string object = home.path(file);
    return object == named || object.starts_with(named + "/");
  });
}

}  // namespace tare
