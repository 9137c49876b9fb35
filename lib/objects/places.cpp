#include "lib/objects/places.hpp"

#include <algorithm>
#include <cerrno>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"

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

void for_each_home(ObjectLayer& objects, const std::string& path, const JournalKey& key,
                   const std::function<void(const ObjectHome&, std::span<const StoredRecord>)>& look) {
  std::optional<Error> refusal;
  bool has_seen_one = false;
  for (const std::string& folder : folders_to_look_into(path)) {
    const ObjectHome home(objects, folder, key);
    std::vector<StoredRecord> records;
    try {
      records = home.records();
    } catch (const Error& error) {
      if (error.detail != EACCES) throw;
      if (!refusal) refusal = error;
      continue;
    }
    has_seen_one = true;
    look(home, records);
  }
  if (refusal && !has_seen_one) throw *refusal;
}

std::optional<StoredJournal> readable_pending(const ObjectHome& home) {
  try {
    return home.read(home.pending());
  } catch (const Error& error) {
    if (error.detail != EACCES) throw;
    return std::nullopt;
  }
}

std::vector<std::string> folders_with_pending(ObjectLayer& objects, const std::string& path) {
  const std::string named = without_slash(path);
  const std::string end = joined(store_name, pending_name);
  std::vector<std::string> folders;
  const auto add_below = [&](const std::string& folder, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (name == end) folders.push_back(folder);
      if (name.ends_with("/" + end)) folders.push_back(joined(folder, name.substr(0, name.size() - end.size() - 1)));
    }
  };
  try {
    const auto names = objects.names_below(named);
    add_below(named, names);
    if (names.empty()) {
      folders = folders_above(named);
      folders.resize(std::min<std::size_t>(folders.size(), 1));
    }
  } catch (const Error& error) {
    if (error.detail != EACCES) throw;
  }
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
