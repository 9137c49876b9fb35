#include "lib/transaction/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"

namespace tare {
namespace {

constexpr std::string_view applied_suffix = ".edit";
constexpr std::string_view undone_suffix = ".undone";

std::optional<StoredRecord> record_named(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view suffix = name.substr(dot);
  if (suffix != applied_suffix && suffix != undone_suffix) return std::nullopt;
  StoredRecord record{0, suffix == applied_suffix ? RecordState::applied : RecordState::undone};
  const auto [end, problem] = std::from_chars(name.data(), name.data() + dot, record.number);
  if (problem != std::errc() || end != name.data() + dot) return std::nullopt;
  return record;
}

std::vector<FileEntry> entries_of(const Store& store) {
  std::vector<FileEntry> entries;
  const int result = store.files().list(store.inside(), entries);
  if (result != -ENOENT) checked(result, store.inside());
  return entries;
}

/// Parts carry the journal's moment, so that they are nobody else's even where numbers come again (no history kept).
std::string part_name(const Journal& journal, std::size_t file, const char* what) {
  return fmt::format("{}-{:x}-{:x}.{}.{}", journal.number, journal.when.tv_sec, journal.when.tv_nsec, what, file);
}

bool is_part(std::string_view name) {
  return name.find(".new.") != std::string_view::npos || name.find(".old.") != std::string_view::npos;
}

}  // namespace

std::string Store::record_path(StoredRecord record) const {
  const std::string_view suffix = record.state == RecordState::applied ? applied_suffix : undone_suffix;
  return part(fmt::format("{:06}{}", record.number, suffix));
}

std::string Store::new_path(const Journal& journal, std::size_t file) const {
  return part(part_name(journal, file, "new"));
}

std::string Store::old_path(const Journal& journal, std::size_t file) const {
  return part(part_name(journal, file, "old"));
}

bool Store::exists() const {
  const auto status = status_of(*files_, inside());
  if (!status || !S_ISDIR(status->st_mode)) return false;
  if (status->st_uid == 0 || status->st_uid == files_->user()) return true;
  const auto parent = status_of(*files_, folder_);
  return parent && ((parent->st_mode & S_ISVTX) == 0 || status->st_uid == parent->st_uid);
}

std::vector<StoredRecord> Store::records() const {
  std::vector<StoredRecord> found;
  for (const FileEntry& entry : entries_of(*this)) {
    if (const auto record = record_named(entry.name)) found.push_back(*record);
  }
  std::sort(found.begin(), found.end(), [](const StoredRecord& a, const StoredRecord& b) {
    return a.number != b.number ? a.number < b.number : a.state > b.state;
  });
  const auto same_number = [](const StoredRecord& a, const StoredRecord& b) { return a.number == b.number; };
  found.erase(std::unique(found.begin(), found.end(), same_number), found.end());
  return found;
}

Journal Store::read(StoredRecord record) const {
  const std::string path = record_path(record);
  const OpenFile file(*files_, path, O_RDONLY | O_NOFOLLOW);
  if (auto journal = decoded(read_whole(file), path)) return std::move(*journal);
  throw Error(Status::corrupt, path + ": this record is damaged", "the edit that it records cannot be undone");
}

std::uint64_t Store::next_number() const {
  const auto present = records();
  return present.empty() ? 1 : present.back().number + 1;
}

void Store::sweep() const {
  std::vector<std::uint64_t> undone;
  std::vector<std::uint64_t> applied;
  for (const FileEntry& entry : entries_of(*this)) {
    if (is_part(entry.name)) remove_if_there(*files_, part(entry.name));
    const auto record = record_named(entry.name);
    if (record) (record->state == RecordState::undone ? undone : applied).push_back(record->number);
  }
  for (const std::uint64_t number : applied) {
    if (std::find(undone.begin(), undone.end(), number) == undone.end()) continue;
    remove_if_there(*files_, record_path({number, RecordState::applied}));
  }
}

void Store::remove_if_empty() const {
  const int result = files_->rmdir(inside());
  if (result != -ENOTEMPTY && result != -EEXIST && result != -ENOENT) checked(result, inside());
}

Bytes read_whole(const OpenFile& file) {
  const std::uint64_t size = file.size();
  if (size > limits::max_journal_bytes) {
    throw Error(Status::corrupt, fmt::format("{}: {} bytes are too many for a journal", file.path(), size));
  }
  return file.read({0, size});
}

}  // namespace tare
