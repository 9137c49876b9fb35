#include "lib/objects/places.hpp"

#include <algorithm>
#include <cerrno>
#include <set>
#include <string_view>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"

namespace tare {
namespace {

std::string without_slash(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  return path;
}

/// The folders from `folder` on that have an object of that name in their `.tare`, by the names below it.
template <typename IsJournal>
std::vector<std::string> folders_among(const std::string& folder, const std::vector<std::string>& names,
                                       const IsJournal& is_journal) {
  const std::string store = joined(store_name, "");
  std::set<std::string> folders;
  for (const std::string& name : names) {
    const std::size_t at = name.rfind(store);
    const bool is_in_store = at != name.npos && (at == 0 || name[at - 1] == '/');
    if (!is_in_store || !is_journal(std::string_view(name).substr(at + store.size()))) continue;
    folders.insert(at == 0 ? folder : joined(folder, name.substr(0, at - 1)));
  }
  return {folders.begin(), folders.end()};
}

/// None where they may not be listed.
std::vector<std::string> listed_names(ObjectLayer& objects, const std::string& folder) {
  try {
    return objects.names_below(folder);
  } catch (const Error& error) {
    if (error.detail != EACCES) throw;
    return {};
  }
}

}  // namespace

void require_reachable(const std::string& path) {
  if (without_slash(path).find("//", path.find("://") + 3) == path.npos) return;
  throw Error(Status::refused,
              path + ": there is nothing between two '/' of its name: no journal could be kept beside it",
              "move it to a name without (aws s3 mv), or download and edit it");
}

std::vector<std::string> folders_to_look_into(const std::string& path) {
  const std::string named = without_slash(path);
  std::vector<std::string> folders{named};
  for (std::string& folder : folders_above(named)) folders.push_back(std::move(folder));
  return folders;
}

std::vector<std::string> folders_with_journals(ObjectLayer& objects, const std::string& path) {
  std::vector<std::string> folders = folders_to_look_into(path);
  const std::string named = folders.front();
  for (std::string& below : folders_among(named, listed_names(objects, named), [](std::string_view) { return true; })) {
    if (below != named) folders.push_back(std::move(below));
  }
  return folders;
}

void for_each_home(ObjectLayer& objects, const std::string& path, const JournalKey& key,
                   const std::function<void(const ObjectHome&, std::span<const StoredRecord>)>& look) {
  std::optional<Error> refusal;
  bool has_seen_one = false;
  for (const std::string& folder : folders_with_journals(objects, path)) {
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
  std::vector<std::string> names;
  try {
    names = objects.names_below(named);
  } catch (const Error& error) {
    if (error.detail != EACCES) throw;
    return {};
  }
  if (!names.empty()) return folders_among(named, names, [](std::string_view name) { return name == pending_name; });
  std::vector<std::string> around = folders_above(named);
  around.resize(std::min<std::size_t>(around.size(), 1));
  return around;
}

bool is_within(const ObjectHome& home, const std::string& path) {
  const std::string named = without_slash(path);
  return home.folder() == named || home.folder().starts_with(named + "/");
}

bool touches(const ObjectHome& home, const Journal& journal, const std::string& path) {
  const std::string named = without_slash(path);
  return std::any_of(journal.files.begin(), journal.files.end(), [&](const FileRecord& file) {
    const std::string object = home.path(file);
    return object == named || object.starts_with(named + "/");
  });
}

}  // namespace tare
