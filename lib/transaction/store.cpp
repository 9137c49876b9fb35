#include "lib/transaction/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <set>
#include <string_view>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/transaction/journal_file.hpp"

namespace tare {
namespace {

constexpr std::string_view applied_suffix = ".edit";
constexpr std::string_view undone_suffix = ".undone";
constexpr std::uint64_t largest_number = 999'999'999;

/// Its regular files.
std::vector<std::string> names_in(const Store& store) {
  std::vector<std::string> names;
  for (const FileEntry& entry : store.inside().list(limits::max_files)) {
    if (entry.type == FileType::file) names.push_back(entry.name);
  }
  return names;
}

/// Parts carry the journal's moment, so that they are nobody else's even where numbers come again (no history kept).
std::string part_name(const Journal& journal, std::size_t file, const char* what) {
  return fmt::format("{}-{:x}-{:x}.{}.{}", journal.number, journal.when.tv_sec, journal.when.tv_nsec, what, file);
}

bool is_part(std::string_view name) {
  return name.find(".new.") != std::string_view::npos || name.find(".old.") != std::string_view::npos;
}

/// Whoever may change the names in a folder could do there what he likes without a `.tare`. Of anybody else (/tmp; a
/// folder that was unpacked with its owners) it may not be believed.
bool is_strangers(const struct stat& inside, const struct stat& home, uid_t user) {
  if (inside.st_uid == user || inside.st_uid == 0 || inside.st_uid == home.st_uid) return false;
  const bool is_open_to_others = (home.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (home.st_mode & S_ISVTX) == 0;
  return !is_open_to_others;
}

bool may_be_believed(const Folder& home, const Folder& inside) {
  return !is_strangers(inside.status(), home.status(), home.files().user());
}

}  // namespace

std::string name_of(StoredRecord record) {
  return fmt::format("{:06}{}", record.number, record.state == RecordState::applied ? applied_suffix : undone_suffix);
}

std::optional<StoredRecord> record_named(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  StoredRecord record{0, name.ends_with(undone_suffix) ? RecordState::undone : RecordState::applied};
  const auto [end, problem] = std::from_chars(name.data(), name.data() + dot, record.number);
  if (problem != std::errc() || record.number > largest_number || name_of(record) != name) return std::nullopt;
  return record;
}

std::vector<StoredRecord> records_in(const std::vector<std::string>& names) {
  std::vector<StoredRecord> found;
  for (const std::string& name : names) {
    if (const auto record = record_named(name)) found.push_back(*record);
  }
  std::sort(found.begin(), found.end(), [](const StoredRecord& a, const StoredRecord& b) {
    return a.number != b.number ? a.number < b.number : a.state > b.state;
  });
  const auto same_number = [](const StoredRecord& a, const StoredRecord& b) { return a.number == b.number; };
  found.erase(std::unique(found.begin(), found.end(), same_number), found.end());
  return found;
}

std::optional<Store> Store::find(const Folder& home, const JournalKey& key) {
  auto inside = home.find(store_name);
  if (!inside || !may_be_believed(home, *inside)) return std::nullopt;
  return Store(home, std::move(*inside), key);
}

std::optional<Store> Store::find(FileLayer& files, const std::string& home, const JournalKey& key) {
  const auto folder = Folder::find(files, home);
  return folder ? find(*folder, key) : std::nullopt;
}

Store Store::make(const Folder& home, const JournalKey& key) {
  constexpr int attempts = 16;  // the last editor out removes the folder
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const int made = home.files().mkdir_at(home.descriptor(), store_name, 0777);
    if (made != -EEXIST) checked(made, [&] { return joined(home.path(), store_name); });
    if (auto store = find(home, key)) return std::move(*store);
    if (home.status(store_name)) break;
  }
  throw Error(Status::refused, joined(home.path(), store_name) + ": is not a folder of yours, or not a folder",
              "remove it, or edit a copy elsewhere");
}

Place Store::record_place(StoredRecord record) const {
  return part(name_of(record));
}

Place Store::new_place(const Journal& journal, std::size_t file) const {
  return part(part_name(journal, file, "new"));
}

Place Store::old_place(const Journal& journal, std::size_t file) const {
  return part(part_name(journal, file, "old"));
}

std::vector<StoredRecord> Store::records() const {
  return records_in(names_in(*this));
}

Journal Store::read(StoredRecord record) const {
  const OpenFile file = record_place(record).open(O_RDONLY);
  if (auto journal = read_journal(file, key_)) return std::move(*journal);
  throw Error(Status::corrupt, file.path() + ": this record is damaged", "the edit that it records cannot be undone");
}

bool Store::is_own(StoredRecord record) const {
  try {
    return is_sealed(record_place(record).open(O_RDONLY), key_);
  } catch (const Error&) {
    return false;
  }
}

std::uint64_t Store::next_number() const {
  const auto present = records();
  const auto last_own =
      std::find_if(present.rbegin(), present.rend(), [this](StoredRecord record) { return is_own(record); });
  std::uint64_t number = last_own == present.rend() ? 1 : last_own->number + 1;
  for (const StoredRecord& record : present) number += record.number == number ? 1 : 0;
  if (number <= largest_number) return number;
  throw Error(Status::refused, inside_.path() + ": its records have used up all numbers",
              "`tare history --prune` forgets them");
}

void Store::sweep() const {
  std::set<std::uint64_t> undone;
  std::vector<StoredRecord> applied;
  for (const std::string& name : names_in(*this)) {
    if (is_part(name)) inside_.remove_if_there(name);
    const auto record = record_named(name);
    if (record && record->state == RecordState::undone) undone.insert(record->number);
    if (record && record->state == RecordState::applied) applied.push_back(*record);
  }
  for (const StoredRecord record : applied) {
    if (undone.contains(record.number)) inside_.remove_if_there(name_of(record));
  }
}

void Store::remove_if_empty() const {
  const int result = files().rmdir_at(home_.descriptor(), store_name);
  if (result != -ENOTEMPTY && result != -EEXIST && result != -ENOENT) checked(result, inside_.path());
}

}  // namespace tare
