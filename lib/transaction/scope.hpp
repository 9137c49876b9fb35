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
  Scope(FileLayer& files, const std::vector<std::string>& paths, const std::string& upper,
        FolderChoice searched = every_folder);
  /// The same bound, other paths.
  [[nodiscard]] Scope of(const std::vector<std::string>& paths) const { return {*files_, paths, upper_, searched_}; }

  [[nodiscard]] FileLayer& files() const { return *files_; }
  /// The first path, as it was named.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// The stores that exist, outer ones first.
  [[nodiscard]] std::vector<Store> stores() const;
  /// Is any file of the journal among what the user named?
  [[nodiscard]] bool touches(const Store& store, const Journal& journal) const;

 private:
  void add(const std::string& path);
  void add_parents(const std::string& folder);
  void add_inside(const std::string& folder, std::size_t depth);

  FileLayer* files_;
  std::string name_;
  std::string upper_;
  FolderChoice searched_;
  std::set<std::string> roots_;
  std::set<std::string> folders_;
};

/// The path without symlinks. A last part that does not exist is kept as it is; throws where its folder does not exist.
std::string resolved_path(FileLayer& files, const std::string& path);

}  // namespace tare
