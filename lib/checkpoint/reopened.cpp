#include "lib/checkpoint/reopened.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "lib/base/error.hpp"
#include "lib/base/file_identity.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/base/versioned_source.hpp"
#include "lib/checkpoint/directory.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/checkpoint/reading.hpp"
#include "lib/checkpoint/several_files.hpp"
#include "lib/container/preview.hpp"

namespace tare {
namespace {

/// The parts of one container, as they are or as they would be.
class ChangedFolder final : public SourceFolder {
 public:
  void add(const std::string& name, std::shared_ptr<const Source> source) {
    budget()->grow(source->size());
    sources_[name] = std::move(source);
  }
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

void require_unchanged(const Source& source, const CheckpointFile& read) {
  const auto* file = dynamic_cast<const FileSource*>(&source);
  const bool is_known = (file != nullptr && read.stamp) || !read.version.empty();
  if (!is_known) throw Error(Status::internal, read.location + ": neither a file nor an object of a store");
  if (file != nullptr ? is_same_file(file->status(), *read.stamp) : version_of(source) == read.version) return;
  throw Error(Status::refused, read.location + ": changed since it was read for this edit",
              "something else writes it: try again when it is done");
}

}  // namespace

Reopened::Reopened(const Checkpoint& checkpoint, std::size_t file, std::span<const FoundScaler* const> known)
    : checkpoint_(checkpoint), files_(checkpoint.files[file].parts) {
  const bool is_single = files_.empty();
  if (is_single) files_ = {file};
  const std::shared_ptr<KeptFile>& kept = checkpoint.files[file].kept;
  const bool is_kept = kept != nullptr && kept->container != nullptr;
  if (is_kept) take_over(*kept, known);
  if (!is_single) {
    open_several(checkpoint.files[file]);
  } else if (!is_kept) {
    open_single(checkpoint.files[file]);
  }
  if (!is_kept) find_again(known);
}

void Reopened::find_again(std::span<const FoundScaler* const> known) {
  std::unordered_multimap<std::string_view, const FoundScaler*, KeyedHash> by_path;
  for (const FoundScaler* scaler : known) by_path.emplace(scaler->path, scaler);
  each_scaler_in(*container_, [&](const FoundScaler& scaler) {
    const auto [first, last] = by_path.equal_range(scaler.path);
    const auto same = std::find_if(first, last, [&](const auto& entry) { return same_state(*entry.second, scaler); });
    if (same == last) return;
    std::vector<FieldNode>& nodes = nodes_[same->second];
    for (const Field& field : scaler.fields) nodes.push_back({field.node, field.inside, field.mirror});
    by_path.erase(same);
  });
}

void Reopened::open_single(const CheckpointFile& file) {
  // What was read once is not read again: before the file is written it is compared with what it was then.
  if (file.kept != nullptr && !file.kept->image.empty()) {
    sources_ = {std::make_shared<const MemorySource>(file.location, file.kept->image)};
  } else {
    sources_ = {checkpoint_.storage->open(file.location)};
    require_unchanged(*sources_.front(), file);
  }
  container_ = open_single_file(sources_.front());
}

void Reopened::take_over(KeptFile& kept, std::span<const FoundScaler* const> known) {
  container_ = std::move(kept.container);
  if (kept.source != nullptr) {
    sources_ = {kept.source};
    kept.source->budget()->grow(kept.source->size());  // what opening it once more would have had
  } else if (container_->tree().budget() != nullptr) {
    for (const std::size_t part : files_) container_->tree().budget()->grow(checkpoint_.files[part].size);
  }
  for (const FoundScaler* scaler : known) {
    std::vector<FieldNode>& nodes = nodes_[scaler];
    for (const Field& field : scaler->fields) nodes.push_back({field.node, field.inside, field.mirror});
  }
}

void Reopened::open_several(const CheckpointFile& file) {
  const auto folder = directory_of(*checkpoint_.storage, file.location);
  const std::string name(file_name(file.path));
  if (container_ == nullptr) container_ = format_of_whole(name)->open(folder, name).container;
  names_.assign(container_->parts().begin(), container_->parts().end());
  if (names_.size() != files_.size()) throw Error(Status::refused, file.location + ": has other parts than before");
  for (std::size_t part = 0; part < names_.size(); ++part) {
    sources_.push_back(folder->open(names_[part]));
    require_unchanged(*sources_.back(), checkpoint_.files[files_[part]]);
  }
}

void Reopened::close_container() {
  const auto* with_directory = dynamic_cast<const WithDirectory*>(container_.get());
  if (with_directory != nullptr) directory_ = with_directory->directory();
  const auto* with_archive = dynamic_cast<const WithArchive*>(container_.get());
  if (with_archive != nullptr) archive_ = with_archive->archive();
  container_.reset();
}

const std::vector<FieldNode>& Reopened::nodes_of(const FoundScaler& known) const {
  if (const auto found = nodes_.find(&known); found != nodes_.end()) return found->second;
  throw Error(Status::refused, checkpoint_.files[files_.front()].location + ": reads otherwise than a moment ago",
              "something else writes it: try again when it is done");
}

std::shared_ptr<const Source> Reopened::after(std::size_t part, std::span<const PartChange> changes) const {
  const auto change = std::find_if(changes.begin(), changes.end(), [&](const PartChange& c) { return c.part == part; });
  if (change == changes.end()) return sources_[part];
  return std::make_shared<PreviewSource>(sources_[part], change->change);
}

void Reopened::each_scaler_after(std::span<const PartChange> changes,
                                 const std::function<void(const FoundScaler&)>& see) const {
  if (names_.empty()) {
    const auto later = after(0, changes);
    return each_scaler_in(archive_ != nullptr ? *archive_->open(later) : *open_single_file(later), see);
  }
  const auto folder = std::make_shared<ChangedFolder>();
  for (std::size_t part = 0; part < names_.size(); ++part) folder->add(names_[part], after(part, changes));
  const bool is_moved = std::ranges::any_of(changes, [](const PartChange& change) { return change.part == 0; });
  const auto container = directory_ != nullptr && !is_moved
                             ? directory_->open(*folder)
                             : format_of_whole(names_.front())->open(folder, names_.front()).container;
  each_scaler_in(*container, see);
}

void Reopened::each_scaler_in(const Container& container, const std::function<void(const FoundScaler&)>& see) const {
  std::vector<Finding> told_before;
  find_scalers(container.tree(), {checkpoint_.files[files_.front()].path}, told_before, [&](FoundScaler& scaler) {
    see(scaler);
    scaler.fields = std::vector<Field>();
  });
}

}  // namespace tare
