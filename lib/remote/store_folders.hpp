// What lies in the folders of a store that lists its objects. Each listing is kept: a checkpoint is looked at as it was
// when it was listed.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/base/files.hpp"
#include "lib/remote/list_page.hpp"

namespace tare {

enum class ListDepth : std::uint8_t {
  level,  ///< what stands in the folder itself, and the names of the folders in it
  below,  ///< all that is below it
};

/// One page of what is in `folder`, by keys from the folder on; `from`: a page's `next`, or empty. Nothing where the
/// store does not list.
using ListsFolder =
    std::function<std::optional<ListPage>(const std::string& folder, ListDepth depth, const std::string& from)>;

/// Called with each list that came to its end: of `folder`, so many objects.
using OnListed = std::function<void(const std::string& folder, std::size_t objects)>;

/// May be used by several threads at once. Folders are named without a slash at their end.
class StoreFolders {
 public:
  explicit StoreFolders(ListsFolder list_page, OnListed on_listed = {})
      : list_page_(std::move(list_page)), on_listed_(std::move(on_listed)) {}

  /// What `path` is, where a listing that was made tells it.
  [[nodiscard]] std::optional<FileType> type(const std::string& path) const;
  /// The bytes of the object at `path`, where a listing that was made tells them.
  [[nodiscard]] std::optional<std::uint64_t> size(const std::string& path) const;
  /// The ETag without quotes of the object at `path`, where one answer, which is of one moment, told of it and of all
  /// that stands before it in `folder`, in which it is; else empty.
  [[nodiscard]] std::string tag(const std::string& folder, const std::string& path) const;
  /// How much of `path` is before the first name that the listing of its folder told of, and before its slash; all of
  /// it where none did.
  [[nodiscard]] std::size_t bytes_before_listed(const std::string& path) const;
  /// What is in `folder`, which is listed unless it is known: with all below it where that takes a few pages. Nothing
  /// where the store does not list.
  std::optional<std::vector<FileEntry>> list(const std::string& folder) const;
  /// All below `folder`, however many pages that takes, up to some hundreds: so that list() knows it.
  void list_below(const std::string& folder) const;
  /// Does list() tell all objects in `folder`, as far as it and the folders in it were listed? Not where an object has
  /// a name that no path leads to.
  bool lists_all(const std::string& folder) const;

 private:
  struct Listed {
    ListDepth depth;
    std::map<std::string, ListedObject> objects;  ///< by key, from the folder on
    std::set<std::string> folders;                ///< of a level
    bool is_there = false;
    bool is_whole = false;
    std::vector<std::string> page_ends = {};  ///< the last key of each answer; none where they come in no order
    bool has_unreachable = false;             ///< objects that are left out

    [[nodiscard]] FileType type(const std::string& key) const;
    /// Did one answer tell of all keys from `first` to `last`?
    [[nodiscard]] bool is_of_one_answer(const std::string& first, const std::string& last) const;
    void end_page(const ListPage& page);
    [[nodiscard]] std::vector<FileEntry> entries(const std::string& prefix) const;
  };
  struct Place {
    const Listed* listed;
    std::string key;
  };

  bool is_in_unlisted(const std::string& folder) const;
  std::vector<FileEntry> keep(const std::string& folder, Listed listed) const;
  std::optional<Place> place_of(const std::string& path) const;
  std::optional<Listed> read(const std::string& folder, ListDepth depth, std::size_t most_pages) const;

  ListsFolder list_page_;
  OnListed on_listed_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Listed> listed_;  ///< by folder; never taken out
  mutable std::set<std::string> unlisted_;        ///< folders that the store does not list
};

}  // namespace tare
