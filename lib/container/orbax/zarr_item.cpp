#include "lib/container/orbax/zarr_item.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/container/file_change.hpp"
#include "lib/container/orbax/metadata.hpp"
#include "lib/container/orbax/zarr_tree.hpp"

namespace tare {
namespace {

class FolderStore final : public ZarrStore {
 public:
  FolderStore(const SourceFolder& folder, std::vector<std::string>& parts) : folder_(folder), parts_(parts) {}

  [[nodiscard]] std::optional<Bytes> get(const std::string& key, std::uint64_t most) override {
    if (!folder_.has(key)) return std::nullopt;
    const auto file = folder_.open(key);
    if (file->size() > most) throw Error(Status::refused, fmt::format("{}: {} bytes are too many", key, file->size()));
    parts_.push_back(key);
    return file->read({0, file->size()});
  }

 private:
  const SourceFolder& folder_;
  std::vector<std::string>& parts_;  ///< what was read
};

/// Beside the arrays' own folders: a copy of what their documents say.
constexpr std::string_view other_folder = "array_metadatas";

std::vector<std::string> array_folders(const SourceFolder& folder) {
  std::vector<std::string> names = folder.folders();
  std::erase(names, other_folder);
  return names;
}

/// Notes what it reads in `parts`.
ZarrTree read_arrays(const SourceFolder& folder, const ArrayChoice& choose, std::vector<std::string>& parts) {
  FolderStore store(folder, parts);
  return {store, choose(array_folders(folder)), [&] { return orbax_python_numbers(folder); }, folder.budget()};
}

class OrbaxZarr final : public Container {
 public:
  OrbaxZarr(const SourceFolder& folder, const std::string& name, const ArrayChoice& choose)
      : parts_{name}, arrays_(read_arrays(folder, choose, parts_)) {
    for (std::size_t part = 0; part < parts_.size(); ++part) part_numbers_[parts_[part]] = part;
  }

  [[nodiscard]] std::string_view format() const override { return "zarr"; }
  [[nodiscard]] const Tree& tree() const override { return arrays_.tree(); }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return arrays_.findings(); }
  [[nodiscard]] std::span<const std::string> parts() const override { return parts_; }
  [[nodiscard]] std::size_t part_of(NodeId node) const override {
    const ZarrTree::Value* value = arrays_.value(node);
    return value == nullptr ? 0 : part_numbers_.at(value->chunk_key);
  }
  [[nodiscard]] std::vector<PartChange> change_parts(std::span<const NodeChange> changes) const override {
    std::vector<PartChange> parts;
    for (const NodeChange& change : changes) {
      const Bytes& before = arrays_.value(change.node)->chunk;
      const Bytes after = arrays_.changed_chunk(change);
      FileChange file;
      if (before.size() == after.size()) {
        file.patches = differing_runs(before, after, 0, change.meaning);
      } else {
        file.splice = changed_run(0, before, after, change.meaning);
      }
      parts.push_back({part_of(change.node), std::move(file)});
    }
    return parts;
  }

 private:
  std::vector<std::string> parts_;
  ZarrTree arrays_;
  std::map<std::string, std::size_t> part_numbers_;
};

}  // namespace

std::unique_ptr<Container> open_orbax_zarr(const std::shared_ptr<const SourceFolder>& folder, const std::string& name,
                                           const ArrayChoice& choose) {
  return std::make_unique<OrbaxZarr>(*folder, name, choose);
}

}  // namespace tare
