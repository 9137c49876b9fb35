#include "lib/remote/store_folders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "lib/base/limits.hpp"

namespace tare {
namespace {

/// Below a run of many large checkpoints, each folder is listed when it is looked into. Until then a listing of all
/// that is below costs one round trip, where there may be a folder for each rank.
constexpr std::size_t most_pages_below = 4;
/// Where each folder is going to be listed anyway.
constexpr std::size_t most_pages_of_all = 300;

/// A name that cannot be a part of a path: objects by such names are out of reach.
bool is_reachable(std::string_view key) {
  while (true) {
    const std::size_t slash = std::min(key.find('/'), key.size());
    const std::string_view name = key.substr(0, slash);
    if (name.empty() || name == "." || name == "..") return false;
    if (slash == key.size()) return true;
    key.remove_prefix(slash + 1);
  }
}

bool is_at_or_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

FileType StoreFolders::Listed::type(const std::string& key) const {
  if (key.empty()) return is_there ? FileType::folder : FileType::absent;
  if (objects.contains(key)) return FileType::file;
  if (folders.contains(key)) return FileType::folder;
  const auto after = objects.lower_bound(key + "/");
  return after != objects.end() && after->first.starts_with(key + "/") ? FileType::folder : FileType::absent;
}

std::vector<FileEntry> StoreFolders::Listed::entries(const std::string& prefix) const {
  std::vector<FileEntry> found;
  for (const std::string& folder : folders) found.push_back({folder, FileType::folder});
  for (auto at = objects.lower_bound(prefix); at != objects.end() && at->first.starts_with(prefix);) {
    const std::size_t slash = at->first.find('/', prefix.size());
    const std::string name = at->first.substr(prefix.size(), slash - prefix.size());
    found.push_back({name, slash == std::string::npos ? FileType::file : FileType::folder});
    // '0' is what comes after '/'.
    at = slash == std::string::npos ? std::next(at) : objects.lower_bound(prefix + name + '0');
  }
  return found;
}

void StoreFolders::Listed::end_page(const ListPage& page) {
  if (page.objects.empty() && page.folders.empty()) return;
  const bool is_first = objects.empty() && folders.empty();
  if (!is_first && page_ends.empty()) return;
  std::string least, last;
  const auto take = [&](const std::string& key, bool is_only) {
    least = is_only ? key : std::min(least, key);
    last = std::max(last, key);
  };
  for (const ListedObject& object : page.objects) take(object.key, &object == page.objects.data());
  for (const std::string& name : page.folders) take(name, page.objects.empty() && &name == page.folders.data());
  if (is_first || least > page_ends.back()) return page_ends.push_back(std::move(last));
  page_ends.clear();
}

bool StoreFolders::Listed::is_of_one_answer(const std::string& first, const std::string& last) const {
  const auto page_of = [&](const std::string& key) { return std::ranges::lower_bound(page_ends, key); };
  return page_of(last) != page_ends.end() && page_of(first) == page_of(last);
}

/// Is `folder`, or one that it lies in, one that the store would not list? Under the mutex.
bool StoreFolders::is_in_unlisted(const std::string& folder) const {
  return std::any_of(unlisted_.begin(), unlisted_.end(),
                     [&](const std::string& unlisted) { return is_at_or_below(folder, unlisted); });
}

/// The listing that tells what is at `path`; under the mutex.
std::optional<StoreFolders::Place> StoreFolders::place_of(const std::string& path) const {
  for (std::size_t end = path.size(); end != path.npos && end > 0; end = path.rfind('/', end - 1)) {
    const auto found = listed_.find(path.substr(0, end));
    if (found == listed_.end()) continue;
    std::string key = end == path.size() ? "" : path.substr(end + 1);
    const bool tells = found->second.depth == ListDepth::below || key.find('/') == key.npos;
    if (tells) return Place{&found->second, std::move(key)};
  }
  return std::nullopt;
}

std::optional<FileType> StoreFolders::type(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto place = place_of(path);
  if (!place) return std::nullopt;
  return place->listed->type(place->key);
}

std::optional<std::uint64_t> StoreFolders::size(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto place = place_of(path);
  if (!place) return std::nullopt;
  const auto found = place->listed->objects.find(place->key);
  return found == place->listed->objects.end() ? std::nullopt : std::optional(found->second.size);
}

std::string StoreFolders::tag(const std::string& folder, const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto place = place_of(path);
  const auto around = place_of(folder);
  if (!place || !around || place->listed != around->listed || !place->listed->is_whole) return {};
  const std::string begin = around->key.empty() ? "" : around->key + "/";
  if (!place->listed->is_of_one_answer(begin, place->key)) return {};
  const auto found = place->listed->objects.find(place->key);
  return found == place->listed->objects.end() ? "" : found->second.tag;
}

std::size_t StoreFolders::bytes_before_listed(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  for (std::size_t slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1)) {
    const auto folder = listed_.find(path.substr(0, slash));
    if (folder == listed_.end()) continue;
    const std::string name = path.substr(slash + 1, path.find('/', slash + 1) - slash - 1);
    if (!name.empty() && folder->second.type(name) != FileType::absent) return slash;
  }
  return path.size();
}

std::optional<std::vector<FileEntry>> StoreFolders::list(const std::string& folder) const {
  {
    const std::lock_guard lock(mutex_);
    if (is_in_unlisted(folder)) return std::nullopt;
    const auto place = place_of(folder);
    if (place && (place->key.empty() || place->listed->depth == ListDepth::below)) {
      return place->listed->entries(place->key.empty() ? "" : place->key + "/");
    }
  }
  auto listed = read(folder, ListDepth::below, most_pages_below);
  if (listed && !listed->is_whole) listed = read(folder, ListDepth::level, limits::max_files);
  if (listed) return keep(folder, *std::move(listed));
  const std::lock_guard lock(mutex_);
  unlisted_.insert(folder);
  return std::nullopt;
}

std::vector<FileEntry> StoreFolders::keep(const std::string& folder, Listed listed) const {
  if (on_listed_ && listed.is_whole) on_listed_(folder, listed.objects.size());
  const std::lock_guard lock(mutex_);
  if (!listed.is_there) return {};  // an object may have this name
  return listed_.insert_or_assign(folder, std::move(listed)).first->second.entries("");
}

void StoreFolders::list_below(const std::string& folder) const {
  {
    const std::lock_guard lock(mutex_);
    if (is_in_unlisted(folder)) return;
    const auto place = place_of(folder);
    if (place && place->listed->depth == ListDepth::below) return;
  }
  auto listed = read(folder, ListDepth::below, most_pages_of_all);
  if (listed && listed->is_whole) keep(folder, *std::move(listed));
}

bool StoreFolders::lists_all(const std::string& folder) const {
  if (!list(folder)) return false;
  const std::lock_guard lock(mutex_);
  return std::none_of(listed_.begin(), listed_.end(), [&](const auto& entry) {
    const auto& [path, listed] = entry;
    const bool is_about_it = is_at_or_below(path, folder) || is_at_or_below(folder, path);
    return is_about_it && (listed.has_unreachable || !listed.is_whole);
  });
}

std::optional<StoreFolders::Listed> StoreFolders::read(const std::string& folder, ListDepth depth,
                                                       std::size_t most_pages) const {
  Listed listed{depth, {}, {}};
  std::string from;
  for (std::size_t page_number = 0; page_number < most_pages && !listed.is_whole; ++page_number) {
    auto page = list_page_(folder, depth, from);
    if (!page) return std::nullopt;
    if (page->is_level) listed.depth = ListDepth::level;
    listed.end_page(*page);
    listed.is_there = listed.is_there || !page->objects.empty() || !page->folders.empty();
    for (ListedObject& object : page->objects) {
      const bool is_marker = object.size == 0 && (object.key.empty() || object.key.ends_with('/'));
      if (is_reachable(object.key)) {
        std::string key = object.key;
        listed.objects.emplace(std::move(key), std::move(object));
      } else if (!is_marker) {
        listed.has_unreachable = true;
      }
    }
    for (std::string& name : page->folders) {
      name.erase(name.find_last_not_of('/') + 1);
      if (is_reachable(name)) {
        listed.folders.insert(std::move(name));
      } else {
        listed.has_unreachable = true;
      }
    }
    from = std::move(page->next);
    listed.is_whole = from.empty();
    if (listed.objects.size() + listed.folders.size() > limits::max_files) break;
  }
  return listed;
}

}  // namespace tare
