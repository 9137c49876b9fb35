#include "lib/checkpoint/directory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/checkpoint/names.hpp"

namespace tare {
namespace {

/// A process may have a thousand files open, or fewer.
constexpr std::size_t most_open = 64;

}  // namespace

std::shared_ptr<const Source> Directory::open(const std::string& name) const {
  const auto known = opened_.find(name);
  if (known != opened_.end()) return known->second;
  if (!is_plain_relative(name)) {
    throw Error(Status::refused, fmt::format("{}: names the file '{}', which may lie outside it", path_, name),
                "no framework writes such a name; find out who made this checkpoint");
  }
  const std::string path = path_ + "/" + name;
  const bool may_leave = files_.link_target(path) || name.find('/') != name.npos;
  if (may_leave && files_.type(path) != FileType::absent && !files_.is_inside(path, path_)) {
    throw Error(Status::refused, fmt::format("{}: is a link out of the checkpoint", path),
                "give a copy that holds the file itself");
  }
  std::shared_ptr<const Source> source = files_.open(path);
  const auto* file = dynamic_cast<const FileSource*>(source.get());
  if (file != nullptr) {
    const auto [same, is_new] = by_identity_.try_emplace({file->status().st_dev, file->status().st_ino}, source);
    if (!is_new) return opened_[name] = same->second;
    if (opened_.size() > most_open) file->park();
  }
  source->count_in(budget());
  return opened_[name] = source;
}

bool Directory::has(const std::string& name) const {
  return is_plain_relative(name) && files_.type(path_ + "/" + name) != FileType::absent;
}

std::vector<std::string> Directory::folders() const {
  std::vector<std::string> names;
  for (const FileEntry& entry : files_.list(path_)) {
    if (entry.type == FileType::folder) names.push_back(entry.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::shared_ptr<const Directory> directory_of(const Files& files, const std::string& location,
                                              std::shared_ptr<Budget> whole) {
  const std::size_t name = location.size() - file_name(location).size();
  return std::make_shared<const Directory>(files, name == 0 ? "." : location.substr(0, name - 1), std::move(whole));
}

}  // namespace tare
