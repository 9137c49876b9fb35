// One `.tare` folder: what is in it and where. README.md has the layout.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/transaction/folder.hpp"
#include "lib/transaction/journal.hpp"

namespace tare {

enum class RecordState { applied, undone };

struct StoredRecord {
  std::uint64_t number = 0;
  RecordState state = RecordState::applied;
};

inline constexpr const char* store_name = ".tare";
inline constexpr const char* pending_name = "pending";

std::string name_of(StoredRecord record);
/// Nothing for any other name than tare gives.
std::optional<StoredRecord> record_named(std::string_view name);
/// By number, each once: an undone record hides the applied one that it replaces.
std::vector<StoredRecord> records_in(const std::vector<std::string>& names);

/// Holds `.tare`, and the folder that it lies in, open.
class Store {
 public:
  /// The `.tare` in `home`. Nothing where there is none that may be believed: no folder, a link, or a stranger's.
  static std::optional<Store> find(const Folder& home, const JournalKey& key);
  static std::optional<Store> find(FileLayer& files, const std::string& home, const JournalKey& key);
  /// The same; where there is none it is made. Throws `refused` where what is there may not be believed.
  static Store make(const Folder& home, const JournalKey& key);

  [[nodiscard]] FileLayer& files() const { return home_.files(); }
  [[nodiscard]] const Folder& home() const { return home_; }
  [[nodiscard]] const Folder& inside() const { return inside_; }
  [[nodiscard]] const JournalKey& key() const { return key_; }
  [[nodiscard]] const std::string& folder() const { return home_.path(); }
  [[nodiscard]] std::string path(const FileRecord& record) const { return joined(folder(), record.name); }

  [[nodiscard]] Place pending() const { return part(pending_name); }
  [[nodiscard]] Place record_place(StoredRecord record) const;
  /// Nothing where the file's folder is gone, or is reached through a link.
  [[nodiscard]] std::optional<Place> target(const FileRecord& record) const { return place_below(home_, record.name); }
  /// Where a rewritten file is made, and where the old one waits until the transaction counts.
  [[nodiscard]] Place new_place(const Journal& journal, std::size_t file) const;
  [[nodiscard]] Place old_place(const Journal& journal, std::size_t file) const;

  /// By number, each once: an undone record hides the applied one that it replaces.
  [[nodiscard]] std::vector<StoredRecord> records() const;
  /// Throws `corrupt` where the record is damaged.
  [[nodiscard]] Journal read(StoredRecord record) const;
  /// Whether this user's key sealed it, every byte of it. Takes a small part of its size in memory.
  [[nodiscard]] bool is_own(StoredRecord record) const;
  /// One that follows those of this user's edits, and that no record has: those of others may have any.
  [[nodiscard]] std::uint64_t next_number() const;

  /// Removes what a crash after a commit left. REQUIRES: the claim is held, and is not of a transaction in progress.
  void sweep() const;
  /// Removes `.tare` where nothing is in it any more.
  void remove_if_empty() const;

 private:
  Store(Folder home, Folder inside, const JournalKey& key)
      : home_(std::move(home)), inside_(std::move(inside)), key_(key) {}
  [[nodiscard]] Place part(const std::string& name) const { return {inside_, name}; }

  Folder home_;
  Folder inside_;
  JournalKey key_;
};

}  // namespace tare
