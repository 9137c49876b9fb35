#include "lib/objects/places.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <string_view>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"

namespace tare {
namespace {

std::string without_slash(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  return path;
}

/// What is in the `.tare` of the folders from `folder` on, by the names below it.
std::map<std::string, std::vector<std::string>> journals_among(const std::string& folder,
                                                               const std::vector<std::string>& names) {
  const std::string store = joined(store_name, "");
  std::map<std::string, std::vector<std::string>> journals;
  for (const std::string& name : names) {
    const std::size_t at = name.rfind(store);
    const bool is_in_store = at != name.npos && (at == 0 || name[at - 1] == '/');
    if (!is_in_store) continue;
    journals[at == 0 ? folder : joined(folder, name.substr(0, at - 1))].push_back(name.substr(at + store.size()));
  }
  return journals;
}

/// Nothing where they may not be listed.
std::optional<std::vector<std::string>> listed_names(ObjectLayer& objects, const std::string& folder) {
  try {
    return objects.names_below(folder);
  } catch (const Error& error) {
    if (error.detail != EACCES) throw;
    return std::nullopt;
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

JournalPlaces places_around(const std::string& path) {
  JournalPlaces places{path, {}};
  for (std::string& folder : folders_to_look_into(path)) places.folders.push_back({std::move(folder), {}});
  return places;
}

JournalPlaces journal_places(ObjectLayer& objects, const std::string& path) {
  JournalPlaces places = places_around(path);
  const std::string named = places.folders.front().folder;
  const auto names = listed_names(objects, named);
  if (!names) return places;
  places.folders.front().names.emplace();
  for (auto& [folder, inside] : journals_among(named, *names)) {
    if (folder == named) {
      places.folders.front().names = std::move(inside);
    } else {
      places.folders.push_back({folder, std::move(inside)});
    }
  }
  return places;
}

bool may_have_pending(const JournalFolder& folder) {
  return !folder.names || std::ranges::find(*folder.names, pending_name) != folder.names->end();
}

void for_each_home(ObjectLayer& objects, const JournalPlaces& places, const JournalKey& key,
                   const std::function<void(const ObjectHome&, std::span<const StoredRecord>)>& look) {
  std::optional<Error> refusal;
  bool has_seen_one = false;
  for (const auto& [folder, names] : places.folders) {
    const ObjectHome home(objects, folder, key);
    std::vector<StoredRecord> records;
    try {
      records = names ? records_in(*names) : home.records();
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
  const auto names = listed_names(objects, named);
  if (!names) return {};
  if (!names->empty()) {
    std::vector<std::string> folders;
    for (const auto& [folder, inside] : journals_among(named, *names)) {
      if (may_have_pending({folder, inside})) folders.push_back(folder);
    }
    return folders;
  }
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
