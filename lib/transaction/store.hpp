// One `.tare` folder: what is in it and where. README.md has the layout.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/transaction/journal.hpp"

namespace tare {

enum class RecordState { applied, undone };

struct StoredRecord {
  std::uint64_t number = 0;
  RecordState state = RecordState::applied;
};

class Store {
 public:
  /// `folder` is the one that `.tare` lies in: absolute and without symlinks.
  Store(FileLayer& files, std::string folder) : files_(&files), folder_(std::move(folder)) {}

  [[nodiscard]] FileLayer& files() const { return *files_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::string inside() const { return joined(folder_, ".tare"); }
  [[nodiscard]] std::string pending_path() const { return part("pending"); }
  [[nodiscard]] std::string record_path(StoredRecord record) const;
  [[nodiscard]] std::string target(const FileRecord& record) const { return joined(folder_, record.name); }
  /// Where a rewritten file is made, and where the old one waits until the transaction counts.
  [[nodiscard]] std::string new_path(const Journal& journal, std::size_t file) const;
  [[nodiscard]] std::string old_path(const Journal& journal, std::size_t file) const;

  /// Is there a `.tare` folder here that may be believed? In a folder where anybody may create files but only owners
  /// may remove them (/tmp), a stranger's may not.
  [[nodiscard]] bool exists() const;
  /// By number, each once: an undone record hides the applied one that it replaces.
  [[nodiscard]] std::vector<StoredRecord> records() const;
  /// Throws `corrupt` where the record is damaged.
  [[nodiscard]] Journal read(StoredRecord record) const;
  [[nodiscard]] std::uint64_t next_number() const;

  /// Removes what a crash after a commit left. REQUIRES: the claim is held, and is not of a transaction in progress.
  void sweep() const;
  /// Removes `.tare` where nothing is in it any more.
  void remove_if_empty() const;

 private:
  [[nodiscard]] std::string part(const std::string& name) const { return joined(inside(), name); }

  FileLayer* files_;
  std::string folder_;
};

/// All of a journal or record file. Throws where it is larger than any that tare writes.
Bytes read_whole(const OpenFile& file);

}  // namespace tare
