#include "lib/container/orbax/ocdbt_item.hpp"

#include <fmt/format.h>

#include <chrono>
#include <set>
#include <unordered_map>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/file_change.hpp"
#include "lib/container/node_change.hpp"
#include "lib/container/orbax/metadata.hpp"
#include "lib/container/orbax/ocdbt_tree.hpp"
#include "lib/container/orbax/zarr_tree.hpp"

namespace tare {
namespace {

Bytes content(const SourceFolder& folder, const std::string& name) {
  const auto file = folder.open(name);
  if (file->size() > limits::max_small_text_bytes) {
    throw Error(Status::corrupt, fmt::format("{}: {} bytes are too many for a manifest", file->name(), file->size()));
  }
  return file->read({0, file->size()});
}

class DatabaseStore final : public ZarrStore {
 public:
  explicit DatabaseStore(const OcdbtTree& database) : database_(database) {}

  [[nodiscard]] std::optional<Bytes> get(const std::string& key, std::uint64_t most) override {
    if (!database_.has(key)) return std::nullopt;
    if (database_.value_size(key) > most) {
      throw Error(Status::refused, fmt::format("{}: {} bytes are too many", key, database_.value_size(key)));
    }
    files_.insert(database_.value_file(key));
    return database_.value(key);
  }
  /// Those that values were read from; empty for one in a leaf.
  [[nodiscard]] const std::set<std::string>& files() const { return files_; }

 private:
  const OcdbtTree& database_;
  std::set<std::string> files_;
};

/// Keys are "<name>/<document>" and "<name>/<chunk>".
std::vector<std::string> array_names(const std::vector<std::string>& keys) {
  std::vector<std::string> names;
  for (const std::string& key : keys) {
    const std::size_t slash = key.rfind('/');
    const std::string_view last = std::string_view(key).substr(slash + 1);
    if (slash != key.npos && (last == zarr2_document || last == zarr3_document)) names.push_back(key.substr(0, slash));
  }
  return names;
}

std::uint64_t nanoseconds_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

class OrbaxOcdbt final : public Container {
 public:
  OrbaxOcdbt(const std::shared_ptr<const SourceFolder>& folder, const std::string& name, const ArrayChoice& choose)
      : folder_(folder),
        manifest_file_(content(*folder, name)),
        manifest_(read_ocdbt_manifest(manifest_file_, folder->open(name)->name(), *folder->budget())),
        database_(folder, manifest_, folder->open(name)->name()),
        store_(database_),
        arrays_(
            store_, choose(array_names(database_.keys())), [&] { return orbax_python_numbers(*folder); },
            folder->budget()),
        parts_{name},
        part_numbers_{{name, 0}} {
    if (folder->has(orbax_metadata_name)) add_part(orbax_metadata_name);
    for (const std::string& file : database_.node_files()) add_part(file);
    for (const std::string& file : store_.files()) add_part(file);
  }

  [[nodiscard]] std::string_view format() const override { return "ocdbt"; }
  [[nodiscard]] const Tree& tree() const override { return arrays_.tree(); }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return arrays_.findings(); }
  /// Values stand wherever the manifest leads to: it is the part of all of them.
  [[nodiscard]] std::span<const std::string> parts() const override { return parts_; }
  [[nodiscard]] std::vector<PartChange> change_parts(std::span<const NodeChange> changes) const override {
    std::vector<OcdbtChange> values;
    values.reserve(changes.size());
    for (const NodeChange& change : changes) {
      values.push_back({arrays_.value(change.node)->chunk_key, arrays_.changed_chunk(change)});
    }
    OcdbtCommit commit = database_.commit(values, nanoseconds_now());
    const std::string meaning = joined_meaning(changes);
    std::vector<PartChange> parts;
    for (auto& [file, added] : commit.added) {
      PartChange& part = parts.emplace_back();
      part.part = part_numbers_.at(file);
      part.change.append = Append{folder_->open(file)->size(), std::move(added), {}, meaning};
    }
    PartChange& manifest = parts.emplace_back();
    manifest.change.splice = changed_run(0, manifest_file_, commit.manifest, "the version that counts");
    return parts;
  }

 private:
  void add_part(const std::string& file) {
    if (!file.empty() && part_numbers_.try_emplace(file, parts_.size()).second) parts_.push_back(file);
  }

  std::shared_ptr<const SourceFolder> folder_;
  Bytes manifest_file_;
  OcdbtManifest manifest_;
  OcdbtTree database_;
  DatabaseStore store_;
  ZarrTree arrays_;
  std::vector<std::string> parts_;
  std::unordered_map<std::string, std::size_t, KeyedHash> part_numbers_;
};

}  // namespace

std::unique_ptr<Container> open_orbax_ocdbt(const std::shared_ptr<const SourceFolder>& folder, const std::string& name,
                                            const ArrayChoice& choose) {
  return std::make_unique<OrbaxOcdbt>(folder, name, choose);
}

}  // namespace tare
