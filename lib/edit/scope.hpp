// Which `.tare` folders can concern a file or a folder: its own, those of its parents, and, of a folder, those inside
// it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "lib/edit/store.hpp"

namespace tare {

/// What the user named, and where its transactions can be recorded.
class Scope {
 public:
  /// `paths` are files or folders; links are followed, also those in a folder that lead to files outside. A file that
  /// is gone is taken by its name. Parents count up to `upper` (itself included); where it is empty or no parent, up to
  /// the root of the file system or device.
  Scope(FileLayer& files, const std::vector<std::string>& paths, const std::string& upper);
  /// One checkpoint. A file of a distributed one stands for its folder: what was edited under its name is recorded
  /// there.
  Scope(FileLayer& files, const std::string& path, const std::string& upper);

  [[nodiscard]] FileLayer& files() const { return *files_; }
  /// The stores that exist, outer ones first.
  [[nodiscard]] std::vector<Store> stores() const;
  /// Is any file of the journal among what the user named?
  [[nodiscard]] bool touches(const Store& store, const Journal& journal) const;

 private:
  void add(const std::string& path);
  void add_parents(const std::string& folder);
  void add_inside(const std::string& folder, std::size_t depth);

  FileLayer* files_;
  std::string upper_;
  std::set<std::string> roots_;
  std::set<std::string> folders_;
};

/// The path without symlinks. A last part that does not exist is kept as it is; throws where its folder does not exist.
std::string resolved_path(FileLayer& files, const std::string& path);

}  // namespace tare
