#include "lib/checkpoint/view.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "lib/base/error.hpp"
#include "lib/checkpoint/several_files.hpp"
#include "lib/container/preview.hpp"

namespace tare {
namespace {

/// The parts of one container, as they are kept open and as they would be.
class ChangedFolder final : public SourceFolder {
 public:
  void add(const std::string& name, std::shared_ptr<const Source> source) { sources_[name] = std::move(source); }
  [[nodiscard]] std::shared_ptr<const Source> open(const std::string& name) const override {
    const auto found = sources_.find(name);
    if (found == sources_.end()) throw Error(Status::internal, name + ": was not read before");
    return found->second;
  }
  [[nodiscard]] bool has(const std::string& name) const override { return sources_.contains(name); }
  [[nodiscard]] std::vector<std::string> folders() const override {
    std::vector<std::string> names;
    for (const auto& [name, source] : sources_) {
      const std::size_t slash = name.find('/');
      if (slash == name.npos || (!names.empty() && names.back() == name.substr(0, slash))) continue;
      names.push_back(name.substr(0, slash));
    }
    return names;
  }

 private:
  std::map<std::string, std::shared_ptr<const Source>> sources_;
};

std::shared_ptr<const Source> after(const CheckpointFile& file, std::size_t part, std::span<const PartChange> changes) {
  const auto change = std::find_if(changes.begin(), changes.end(), [&](const PartChange& c) { return c.part == part; });
  if (change == changes.end()) return file.source;
  return std::make_shared<PreviewSource>(file.source, change->change);
}

}  // namespace

std::size_t file_of_part(const Checkpoint& checkpoint, std::size_t file, std::size_t part) {
  const auto& parts = checkpoint.files[file].parts;
  return parts.empty() ? file : parts[part];
}

std::unique_ptr<const Container> view_after(const Checkpoint& checkpoint, std::size_t file,
                                            std::span<const PartChange> changes) {
  const CheckpointFile& whole = checkpoint.files[file];
  const auto names = whole.container->parts();
  if (names.empty()) return open_container(after(whole, 0, changes));
  const auto folder = std::make_shared<ChangedFolder>();
  for (std::size_t part = 0; part < names.size(); ++part) {
    folder->add(names[part], after(checkpoint.files[whole.parts[part]], part, changes));
  }
  return format_of_whole(names.front())->open(folder, names.front()).container;
}

}  // namespace tare
