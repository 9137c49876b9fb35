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
#include "lib/checkpoint/listing.hpp"
#include "lib/checkpoint/lost_save.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/checkpoint/several_files.hpp"
#include "lib/checkpoint/unfinished_saves.hpp"
#include "lib/container/sniff.hpp"
#include "lib/dialect/rank_name.hpp"
#include "lib/trace/one_save.hpp"
#include "lib/trace/saved_step.hpp"

namespace tare {
namespace {

/// A file or a folder that may be a checkpoint, or hold some.
struct Place {
  std::string path;
  FileType type;
  std::optional<Finding> unfinished = {};  ///< what tells that it is
};

/// What became of a place, and where to look next.
struct Looked {
  std::optional<ListedCheckpoint> found;
  std::optional<ListedCheckpoint> broken;  ///< told where nothing below it is a checkpoint
  std::vector<Place> inside;
  std::string suspect;  ///< the run's folder, where what it is resumed from may be nothing that is read; empty: none
};

ListedCheckpoint listed(const Checkpoint& checkpoint, const std::string& path, const Files& files) {
  ListedCheckpoint told{
      .path = path, .step = counters_of(checkpoint, path, files).step, .files = checkpoint.files.size()};
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

ListedCheckpoint told_of(const std::string& path, Finding finding) {
  return {.path = path, .step = step_in_name(file_name(path)), .findings = {std::move(finding)}};
}

ListedCheckpoint broken(const std::string& path, const Error& error) {
  return told_of(path, {Severity::error, "file-not-read", error.what(), "", ""});
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
    for (int depth = 0; depth <= deepest_folder && !level.empty(); ++depth) level = look_at(level);
    tell_broken();
    tell_lost();
    for (const Place& place : level) {
      if (place.type == FileType::folder) found_.push_back(told_of(place.path, too_deep(place.path)));
    }
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
    for (std::size_t i = 0; i < level.size(); ++i) {
      if (looked[i].found && level[i].unfinished) looked[i].found->findings.push_back(*level[i].unfinished);
    }
    std::vector<Place> next;
    for (Looked& one : looked) {
      if (one.found) found_.push_back(*std::move(one.found));
      if (one.broken) broken_.push_back(*std::move(one.broken));
      if (!one.suspect.empty()) suspects_.insert(std::move(one.suspect));
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

  /// A checkpoint that a state in it, a counter or its name makes one.
  void take(const Checkpoint& checkpoint, const std::string& path, Looked& looked) const {
    ListedCheckpoint told = listed(checkpoint, path, *options_.files);
    const bool is_one = !checkpoint.scalers.empty() || told.step || step_in_name(file_name(path));
    if (is_one) looked.found = std::move(told);
  }

  [[nodiscard]] Looked look_into(const std::string& folder) const {
    Looked looked;
    const std::vector<FileEntry> entries = entries_of(folder, looked);
    const bool may_be_one = may_be_one_save(folder, entries);
    bool is_run = !may_be_one;
    if (may_be_one) {
      try {
        const Checkpoint checkpoint = options_.open(folder);
        const FolderIs kind = kind_of_folder(checkpoint, folder);
        is_run = kind == FolderIs::run;
        if (kind == FolderIs::one_save) take(checkpoint, folder, looked);
      } catch (const Error& error) {
        if (error.status != Status::refused) tell_unread(folder, error, looked);
        const bool holds_none = error.status == Status::not_found && !looked.broken;  // but its files may be some
        is_run = error.status == Status::refused || holds_none;
      }
    }
    if (!looked.found) add_inside(folder, entries, is_run, looked);
    const bool has_link = std::ranges::find(entries, FileType::link, &FileEntry::type) != entries.end();
    if (has_link && !looked.found) looked.suspect = folder;
    return looked;
  }

  void tell_unread(const std::string& folder, const Error& error, Looked& looked) const {
    if (!is_other(error, true)) {
      looked.broken = broken(folder, error);
    } else if (error.status == Status::not_found && is_unfinished(*options_.files, folder)) {
      looked.broken = told_of(folder, {Severity::error, "incomplete-checkpoint", error.what(), "", ""});
    } else if (step_in_name(file_name(folder)) && folder != root_) {
      looked.suspect = folder_of(folder);
    }
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
    for (const FileEntry& entry : without_parts(entries)) {
      const bool is_save_of_ranks = entry.type == FileType::file && is_first_rank_of_step(entry.name);
      const bool is_part = is_of_rank(entry) && !is_save_of_ranks;
      if (entry.name.starts_with('.') || is_part || is_being_written(entry.name)) continue;
      const bool is_save = is_run && is_candidate(entry);
      if (is_save || entry.type == FileType::folder) looked.inside.push_back({folder + "/" + entry.name, entry.type});
    }
    for (const UnfinishedSave& save : unfinished_saves(folder, entries)) {
      const auto place = std::ranges::find(looked.inside, fmt::format("{}/{}", folder, save.name), &Place::path);
      if (place != looked.inside.end()) place->unfinished = save.finding;
    }
  }

  /// What cannot be read is told, unless what is below it is read one by one.
  void tell_broken() {
    const std::set<std::string> holding = folders_above_found();
    for (ListedCheckpoint& one : broken_) {
      if (!holding.contains(one.path)) found_.push_back(std::move(one));
    }
  }

  /// Of runs that hold other saves what they are resumed from, where that is nothing that can be read.
  void tell_lost() {
    const std::set<std::string> holding = folders_above_found();
    for (const std::string& run : suspects_) {
      if (!holding.contains(run)) continue;
      auto lost = lost_save(*options_.files, run);
      if (lost && !holding.contains(lost->path)) found_.push_back(told_of(lost->path, std::move(lost->finding)));
    }
  }

  [[nodiscard]] std::set<std::string> folders_above_found() const {
    std::set<std::string> folders;
    for (const ListedCheckpoint& one : found_) {
      std::string folder = folder_of(one.path);
      while (folder.size() >= root_.size() && folders.insert(folder).second) folder = folder_of(folder);
    }
    return folders;
  }

  std::string root_;
  const ListOptions& options_;
  std::size_t seen_ = 0;
  std::vector<ListedCheckpoint> found_, broken_;
  std::set<std::string> suspects_;
};

}  // namespace

std::vector<ListedCheckpoint> list_checkpoints(const std::string& path, const ListOptions& options) {
  return Lister(path, options).run();
}

}  // namespace tare
