// Which `.tare` folders can concern a file or a folder: its own, those of its parents, and, of a folder, those inside
// it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "lib/transaction/store.hpp"

namespace tare {

/// Of a folder's folders those in which tare may have changed something.
using FolderChoice = std::vector<std::string> (*)(const std::vector<FileEntry>& entries);

/// All but `.tare`.
std::vector<std::string> every_folder(const std::vector<FileEntry>& entries);

/// What the user named, and where its transactions can be recorded.
class Scope {
 public:
  /// `paths` are files or folders; links are followed, also those in a folder that lead to files outside. A file that
  /// is gone is taken by its name. Parents count up to `upper` (itself included); where it is empty or no parent, up to
  /// the root of the file system or device.
  /// `key`: by which this user's own journals are known.
  Scope(FileLayer& files, const std::vector<std::string>& paths, const std::string& upper, const JournalKey& key,
        FolderChoice searched = every_folder);
  /// The same bound and key, other paths.
  [[nodiscard]] Scope of(const std::vector<std::string>& paths) const {
    return {*files_, paths, upper_, key_, searched_};
  }

  [[nodiscard]] FileLayer& files() const { return *files_; }
  /// The first path, as it was named.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const JournalKey& key() const { return key_; }
  /// The folders in which there may be a store, outer ones first.
  [[nodiscard]] const std::set<std::string>& folders() const { return folders_; }
  [[nodiscard]] std::optional<Store> store_in(const std::string& folder) const {
    return Store::find(*files_, folder, key_);
  }
  /// Is the folder one that the user named (or holds the file that he named), or inside it? Only there is it up to him
  /// whether others are trusted.
  [[nodiscard]] bool encloses(const std::string& folder) const;
  /// Is any file of the journal among what the user named?
  [[nodiscard]] bool touches(const Store& store, const Journal& journal) const;

 private:
  void add_file(const std::string& path);
  void add_folder(const std::string& path);
  void add_parents(const std::string& folder);
  void add_inside(const std::string& folder, std::size_t depth);

  FileLayer* files_;
  std::string name_;
  std::string upper_;
  JournalKey key_;
  FolderChoice searched_;
  std::set<std::string> roots_;
  std::set<std::string> named_;  ///< folders
  std::set<std::string> folders_;
};

}  // namespace tare
