// An open folder, and names in it. The transaction reaches everything this way: a folder is walked to without following
// links, and held as long as its names are used, so that nobody can put another one in its place.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/transaction/file_layer.hpp"

namespace tare {

/// Copies share the descriptor. Functions throw `io` that names the path; names are single names, without slashes.
class Folder {
 public:
  /// `path`: absolute and without symlinks. Nothing where it is not there, is no folder, or leads through a link.
  static std::optional<Folder> find(FileLayer& files, const std::string& path);
  /// The same, which has to be there.
  static Folder at(FileLayer& files, const std::string& path);
  /// A folder below this one, under one name or several ("a/b"; empty: this one).
  [[nodiscard]] std::optional<Folder> find(const std::string& relative) const;

  [[nodiscard]] FileLayer& files() const { return open_->files(); }
  [[nodiscard]] const std::string& path() const { return open_->path(); }
  [[nodiscard]] int descriptor() const { return open_->descriptor(); }
  [[nodiscard]] struct stat status() const { return open_->status(); }
  /// Of what has that name, itself: links are not followed. Nothing where nothing has it.
  [[nodiscard]] std::optional<struct stat> status(const std::string& name) const;
  /// Up to `most` entries.
  [[nodiscard]] std::vector<FileEntry> list(std::size_t most) const;

  /// Never through a link, never waiting for the other end of a pipe.
  [[nodiscard]] OpenFile open(const std::string& name, int flags, mode_t mode = 0) const;
  /// The descriptor, or the negative errno.
  [[nodiscard]] int try_open(const std::string& name, int flags, mode_t mode = 0) const;
  /// A name that is not there is as good as removed.
  void remove_if_there(const std::string& name) const;
  /// Makes the names in it durable. File systems that cannot sync a folder (EINVAL) are taken to do it by themselves.
  void sync() const;

 private:
  explicit Folder(std::shared_ptr<const OpenFile> open) : open_(std::move(open)) {}

  std::shared_ptr<const OpenFile> open_;
};

/// A name in an open folder: what a path is, but it stays the same folder.
struct Place {
  Folder folder;
  std::string name;

  [[nodiscard]] std::string path() const { return joined(folder.path(), name); }
  [[nodiscard]] std::optional<struct stat> status() const { return folder.status(name); }
  [[nodiscard]] OpenFile open(int flags, mode_t mode = 0) const { return folder.open(name, flags, mode); }
};

/// The same as OpenFile::adopt for what was opened there.
OpenFile adopt(const Place& place, int opened);

/// The place of "a/b.pt" below a folder. Nothing where its folder is not there, or is reached through a link.
std::optional<Place> place_below(const Folder& folder, const std::string& relative);

/// The place of an absolute path without symlinks; nothing as above.
std::optional<Place> place_of(FileLayer& files, const std::string& path);

/// Does the name still stand for the file that was opened?
bool stands_for(const Place& place, const OpenFile& file);

/// Renames, whatever has the new name. Throws `io` that names the old path.
void rename(const Place& from, const Place& to);

/// lstat of an absolute path without symlinks; nothing where there is no such file.
std::optional<struct stat> status_of(FileLayer& files, const std::string& path);

}  // namespace tare
