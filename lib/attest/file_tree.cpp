#include "lib/attest/file_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/checkpoint/names.hpp"

namespace tare {
namespace {

class Walk {
 public:
  Walk(const Files& files, const std::string& root, int depth) : files_(files), root_(root), depth_(depth) {}

  FileTree run() {
    visit("", 0);
    std::sort(tree_.files.begin(), tree_.files.end(), natural_less);
    std::sort(tree_.others.begin(), tree_.others.end(),
              [](const NoFile& a, const NoFile& b) { return natural_less(a.path, b.path); });
    return std::move(tree_);
  }

 private:
  void visit(const std::string& prefix, int depth) {
    std::vector<FileEntry> entries;
    try {
      entries = files_.list(prefix.empty() ? root_ : fmt::format("{}/{}", root_, prefix.substr(0, prefix.size() - 1)));
    } catch (const Error& error) {
      if (depth == 0) throw;
      tree_.others.push_back({prefix.substr(0, prefix.size() - 1), error.what()});
      return;
    }
    seen_ += entries.size();
    if (seen_ > limits::max_files) {
      throw Error(Status::refused, fmt::format("{}: more than {} files", root_, limits::max_files),
                  "give the checkpoint's own folder");
    }
    for (const auto& [name, type] : entries) {
      if (type == FileType::file) tree_.files.push_back(prefix + name);
      if (type == FileType::folder && depth < depth_) visit(fmt::format("{}{}/", prefix, name), depth + 1);
      if (type == FileType::link) look_at_link(prefix + name);
      if (type == FileType::other) tree_.others.push_back({prefix + name, "is no regular file"});
    }
  }

  void look_at_link(const std::string& path) {
    const std::string link = fmt::format("{}/{}", root_, path);
    if (files_.is_inside(link, root_)) return;
    const bool is_dead = files_.type(link) == FileType::absent;
    tree_.others.push_back(
        {path,
         fmt::format("is a symbolic link to {}, which {}; what a loader finds there is not read",
                     files_.link_target(link).value_or(""), is_dead ? "is not there" : "leads out of the checkpoint")});
  }

  const Files& files_;
  const std::string& root_;
  int depth_;
  std::size_t seen_ = 0;
  FileTree tree_;
};

}  // namespace

FileTree files_below(const Files& files, const std::string& folder) {
  return Walk(files, folder, std::numeric_limits<int>::max()).run();
}

FileTree files_in(const Files& files, const std::string& folder) {
  return Walk(files, folder, 0).run();
}

}  // namespace tare
