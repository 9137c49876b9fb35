#include "lib/trace/listed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <span>
#include <utility>

#include "lib/base/distant_files.hpp"
#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/parallel.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/container/sniff.hpp"
#include "lib/dialect/rank_name.hpp"
#include "lib/trace/checkpoints.hpp"

namespace tare {
namespace {

constexpr int deepest_run = 8;

/// A file or a folder that may be a checkpoint, or hold some.
struct Place {
  std::string path;
  FileType type;
};

/// What became of a place, and where to look next.
struct Looked {
  std::optional<ListedCheckpoint> found;
  std::optional<ListedCheckpoint> broken;  ///< told where nothing below it is a checkpoint
  std::vector<Place> inside;
};

ListedCheckpoint listed(const Checkpoint& checkpoint, const std::string& path, const Files& files) {
  ListedCheckpoint told{.path = path, .step = step_of(checkpoint, path, files), .files = checkpoint.files.size()};
  for (const Scaler& scaler : checkpoint.scalers) {
    const FoundScaler& state = scaler.state();
    const bool is_fp8 = state.dialect->kind == "fp8";
    const bool is_first = told.dialect.empty() || (!is_fp8 && told.loss_scales == 0);
    ++(is_fp8 ? told.fp8_states : told.loss_scales);
    if (!is_first) continue;
    told.dialect = state.dialect->name;
    const Value* scale = is_fp8 ? nullptr : state.known(Role::scale);
    if (scale != nullptr && scale->number() != nullptr) told.scale = scale->number()->as_double();
  }
  std::ranges::copy_if(checkpoint.findings, std::back_inserter(told.findings),
                       [](const Finding& finding) { return finding.severity != Severity::note; });
  return told;
}

ListedCheckpoint broken(const std::string& path, const Error& error) {
  return {.path = path, .findings = {{Severity::error, "file-not-read", error.what(), "", ""}}};
}

/// Whether what was thrown tells of something else than a checkpoint. Of a folder it tells of files that are meant as
/// such.
bool is_other(const Error& error, bool is_meant) {
  if (error.status == Status::not_found) return true;
  return error.status == Status::unsupported && !(is_meant && tells_of_damage(error));
}

bool is_candidate(const FileEntry& entry) {
  return !entry.name.starts_with('.') && entry.type == FileType::file && !is_no_checkpoint(entry.name);
}

bool is_of_rank(const FileEntry& entry) {
  return rank_name(entry.name).has_value();
}

/// Does a file of it lie in the folder itself, or in one of a rank? Else the folder holds checkpoints and is none.
bool has_own_file(const Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.files, [](const CheckpointFile& file) {
    const std::size_t slash = file.path.find('/');
    return slash == file.path.npos || rank_name(std::string_view(file.path).substr(0, slash));
  });
}

/// Of a loss scaler each, side by side, and a name among them counts: saves of a run, and no checkpoint of several
/// files.
bool holds_several_saves(const Checkpoint& checkpoint) {
  std::set<std::string_view> saves;
  for (const Scaler& scaler : checkpoint.scalers) {
    if (scaler.state().dialect->kind == "fp8") continue;
    for (const ScalerCopy& copy : scaler.copies) {
      const std::string& path = checkpoint.files[copy.file].path;
      if (path.find('/') == path.npos && !rank_name(path)) saves.insert(path);
    }
  }
  const auto counts = [](std::string_view name) { return name.find_first_of("0123456789") != name.npos; };
  return saves.size() > 1 && std::ranges::any_of(saves, counts);
}

class Lister {
 public:
  Lister(std::string root, const ListOptions& options) : root_(std::move(root)), options_(options) {
    while (root_.size() > 1 && root_.ends_with('/')) root_.pop_back();
  }

  std::vector<ListedCheckpoint> run() {
    if (const auto* distant = dynamic_cast<const DistantFiles*>(options_.files)) distant->expect_all_below(root_);
    const FileType type = options_.files->type(root_);
    if (type != FileType::folder) return {listed(options_.open(root_), root_, *options_.files)};
    std::vector<Place> level{{root_, type}};
    for (int depth = 0; depth <= deepest_run && !level.empty(); ++depth) level = look_at(level);
    tell_broken();
    if (found_.empty()) {
      throw Error(Status::not_found, fmt::format("{}: no checkpoint is in this folder or below it", root_),
                  "give a folder of checkpoints, or of runs");
    }
    std::ranges::sort(found_, natural_less, &ListedCheckpoint::path);
    return std::move(found_);
  }

 private:
  /// All places of a level at the same time; what to look at next.
  std::vector<Place> look_at(const std::vector<Place>& level) {
    seen_ += level.size();
    if (seen_ > limits::max_files) {
      throw Error(Status::refused, fmt::format("{}: more files and folders than tare looks through", root_),
                  "list its folders one by one");
    }
    std::vector<Looked> looked(level.size());
    for_each_parallel(
        level.size(), [&](std::size_t i) { looked[i] = look(level[i]); }, {}, options_.at_once);
    std::vector<Place> next;
    for (Looked& one : looked) {
      if (one.found) found_.push_back(*std::move(one.found));
      if (one.broken) broken_.push_back(*std::move(one.broken));
      std::ranges::move(one.inside, std::back_inserter(next));
    }
    return next;
  }

  [[nodiscard]] Looked look(const Place& place) const {
    return place.type == FileType::folder ? look_into(place.path) : look_at_file(place.path);
  }

  [[nodiscard]] Looked look_at_file(const std::string& path) const {
    Looked looked;
    try {
      take(options_.open(path), path, looked);
    } catch (const Error& error) {
      if (!is_other(error, is_meant_as_checkpoint(path))) looked.found = broken(path, error);
    }
    return looked;
  }

  /// A checkpoint that its name, or a state in it, makes one.
  void take(const Checkpoint& checkpoint, const std::string& path, Looked& looked) const {
    if (checkpoint.scalers.empty() && !step_in_name(file_name(path))) return;
    looked.found = listed(checkpoint, path, *options_.files);
  }

  [[nodiscard]] Looked look_into(const std::string& folder) const {
    Looked looked;
    const std::vector<FileEntry> entries = entries_of(folder, looked);
    const bool tells_step = step_in_name(file_name(folder)).has_value();
    const bool may_be_one =
        tells_step || std::ranges::any_of(entries, is_candidate) || std::ranges::any_of(entries, is_of_rank);
    bool is_run = !may_be_one;
    if (may_be_one) {
      try {
        const Checkpoint checkpoint = options_.open(folder);
        is_run = checkpoint.resolved != folder || holds_several_saves(checkpoint);
        if (!is_run && (tells_step || has_own_file(checkpoint))) take(checkpoint, folder, looked);
      } catch (const Error& error) {
        is_run = error.status == Status::refused;
        if (!is_run && !is_other(error, true)) looked.broken = broken(folder, error);
      }
    }
    if (!looked.found) add_inside(folder, entries, is_run, looked);
    return looked;
  }

  /// A page for people, a report of the run, is a folder of the web's that has no list.
  [[nodiscard]] std::vector<FileEntry> entries_of(const std::string& folder, Looked& looked) const {
    try {
      return options_.files->list(folder);
    } catch (const Error& error) {
      if (folder == root_) throw;
      const bool is_page = error.detail == ENODATA && !step_in_name(file_name(folder));
      if (!is_page) looked.broken = broken(folder, error);
      return {};
    }
  }

  /// The folders in it; of a run its files, too, each of which may be a save.
  static void add_inside(const std::string& folder, const std::vector<FileEntry>& entries, bool is_run,
                         Looked& looked) {
    for (const FileEntry& entry : entries) {
      if (entry.name.starts_with('.') || is_of_rank(entry)) continue;
      const bool is_save = is_run && is_candidate(entry);
      if (is_save || entry.type == FileType::folder) looked.inside.push_back({folder + "/" + entry.name, entry.type});
    }
  }

  /// What cannot be read is told, unless what is below it is read one by one.
  void tell_broken() {
    for (ListedCheckpoint& one : broken_) {
      const std::string prefix = one.path + "/";
      const auto is_below = [&](const ListedCheckpoint& other) { return other.path.starts_with(prefix); };
      if (std::ranges::none_of(found_, is_below)) found_.push_back(std::move(one));
    }
  }

  std::string root_;
  const ListOptions& options_;
  std::size_t seen_ = 0;
  std::vector<ListedCheckpoint> found_, broken_;
};

}  // namespace

std::vector<ListedCheckpoint> list_checkpoints(const std::string& path, const ListOptions& options) {
  return Lister(path, options).run();
}

}  // namespace tare
