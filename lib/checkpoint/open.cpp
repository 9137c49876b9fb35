// Opening a checkpoint: which files there are, what each holds, and what that says together.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "lib/base/alike.hpp"
#include "lib/base/distant_files.hpp"
#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/parallel.hpp"
#include "lib/base/text.hpp"
#include "lib/checkpoint/authority.hpp"
#include "lib/checkpoint/chained.hpp"
#include "lib/checkpoint/checkpoint.hpp"
#include "lib/checkpoint/far_apart.hpp"
#include "lib/checkpoint/group.hpp"
#include "lib/checkpoint/in_order.hpp"
#include "lib/checkpoint/layer_files.hpp"
#include "lib/checkpoint/listing.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/checkpoint/rank_set.hpp"
#include "lib/checkpoint/reading.hpp"
#include "lib/checkpoint/resolve.hpp"
#include "lib/checkpoint/several_files.hpp"
#include "lib/dialect/judge_fp8.hpp"
#include "lib/dialect/rank_name.hpp"

namespace tare {
namespace {

/// What a scaler takes beside itself until it is told: findings, rows of a report.
constexpr std::size_t bytes_told = 4608;
/// Of small files that are kept for an edit, all together.
constexpr std::size_t most_kept_bytes = std::size_t{16} << 20;
/// How many files are described where no scaler is found.
constexpr std::size_t most_described = 3;

/// S3 answers "forbidden" for what is not there to who may not list the bucket.
bool is_absence(const Error& error) {
  return error.status == Status::not_found || error.detail == ENOENT || error.detail == EACCES;
}

class Opener {
 public:
  Opener(const std::string& target, const OpenOptions& options) : options_(options), root_(target) {
    checkpoint_.target = checkpoint_.resolved = target;
    checkpoint_.storage = options.files;
    while (root_.size() > 1 && root_.back() == '/') root_.pop_back();
    if (options_.budget == nullptr) options_.budget = Budget::of_files(target);
  }

  Checkpoint open() {
    tell_of_link();
    if (options_.files->type(checkpoint_.target) == FileType::folder) {
      open_directory();
    } else {
      const std::string whole = whole_of(checkpoint_.target);
      const std::string& file = whole.empty() ? checkpoint_.target : whole;
      take(read_checkpoint_file(std::string(file_name(file)), file, options_));
    }
    finish();
    return std::move(checkpoint_);
  }

 private:
  void tell(Finding finding) {
    // What is true of many rank files alike is told once, of the first; errors are told of each.
    std::optional<std::string> kin;
    if (finding.severity != Severity::error) kin = rank_group(finding.file);
    if (kin) *kin += "\n" + finding.path;
    findings_.add(std::move(finding), kin);
  }

  /// Leaves none of them behind.
  void tell_all(std::vector<Finding>& findings) {
    for (Finding& finding : std::exchange(findings, {})) tell(std::move(finding));
  }

  void tell_of_link() {
    const auto to = options_.files->link_target(checkpoint_.target);
    if (!to) return;
    tell(
        {Severity::note, "symbolic-link", fmt::format("{} is a symbolic link to {}", checkpoint_.target, *to), "", ""});
  }

  /// The file that `path`, a part of a checkpoint of several files or what such a checkpoint is called, is opened by:
  /// all that belongs together is read. Empty for other files.
  std::string whole_of(const std::string& path) {
    const std::string name(file_name(path));
    const std::string folder = path.substr(0, path.size() - name.size());
    const bool is_there = options_.files->type(path) != FileType::absent;
    for (const SeveralFiles& format : several_files()) {
      if (is_there && !format.is_part(name)) continue;
      const std::vector<std::string> candidates = format.wholes_of(name);
      for (const std::string& whole : candidates) {
        if (options_.files->type(folder + whole) != FileType::file) continue;
        if (is_there) tell_of_part(name, format, whole);
        return folder + whole;
      }
      if (!is_there || format.parts_stand_alone) continue;
      throw Error(Status::not_found, fmt::format("{}: no {} is beside it", path, candidates.front()),
                  "without that nobody knows what is where in it: give the checkpoint's folder");
    }
    return {};
  }

  void tell_of_part(const std::string& name, const SeveralFiles& format, const std::string& whole) {
    tell({Severity::note, "distributed-part",
          fmt::format("{} is a part of the {} checkpoint that {} describes: all of it is "
                      "read",
                      name, format.framework, whole),
          "", ""});
  }

  void open_directory() {
    is_folder_ = true;
    const Files& files = *options_.files;
    std::vector<Finding> findings;
    std::string inner = resolve_run(files, root_, findings);
    std::optional<Listing> listing;
    if (inner.empty()) {
      listing = list_files(files, root_, findings);
      inner = run_below(*listing, findings);
    }
    if (!inner.empty()) {
      listing.reset();
      checkpoint_.resolved = location(inner);
    }
    tell_all(findings);
    if (files.type(checkpoint_.resolved) == FileType::file) {
      is_folder_ = false;
      take(read_checkpoint_file(inner, checkpoint_.resolved, options_));
      return;
    }
    if (!listing) listing = list_files(files, checkpoint_.resolved, findings);
    tell_all(findings);
    open_listed(inner.empty() ? "" : inner + "/", *listing);
  }

  void open_listed(const std::string& prefix, const Listing& listing) {
    try_files(prefix, listing.wholes);
    try_files(prefix, listing.files);
    if (checkpoint_.files.empty() && !first_error_) try_files(prefix, listing.weights);
    if (checkpoint_.files.empty()) throw_nothing_read(listing);
    try_expected();
    tell_of_no_list();
    if (listing.unfinished != nullptr) {
      tell({Severity::error, "incomplete-checkpoint",
            fmt::format("{} without {}: the save never finished, and {} loads nothing of them",
                        listing.unfinished->parts_are, listing.unfinished->whole_is, listing.unfinished->framework),
            "", ""});
    }
  }

  /// The checkpoint of the only run below the target, where all files lie in runs. Runs beside each other are no
  /// checkpoint, and nobody knows which one is meant.
  std::string run_below(const Listing& listing, std::vector<Finding>& findings) const {
    std::vector<std::string> names = listing.wholes;
    names.insert(names.end(), listing.files.begin(), listing.files.end());
    std::vector<std::string> runs = runs_below(*options_.files, root_, names);
    if (runs.empty()) return {};
    if (runs.size() == 1) return runs[0] + "/" + resolve_run(*options_.files, location(runs[0]), findings);
    const std::size_t count = runs.size();
    runs.resize(std::min(count, most_described));
    for (std::string& run : runs) run = location(run);
    throw Error(Status::refused, fmt::format("{}: {} runs are in this folder", checkpoint_.target, count),
                fmt::format("give one of them: {}{}", fmt::join(runs, ", "), runs.size() < count ? " ..." : ""));
  }

  [[nodiscard]] std::string location(const std::string& relative) const { return root_ + "/" + relative; }

  /// What the files that were read say is there as well, asked for by name: not every storage lists its files.
  void try_expected() {
    std::vector<std::string> paths = unread_;
    for (const CheckpointFile& file : checkpoint_.files) {
      if (!is_of_several_files(file_name(file.path))) paths.push_back(file.path);
    }
    is_expected_only_ = true;
    try_files("", absent_rank_files(paths, sizes_));
  }

  /// Files that nobody names are not seen. Of ranks that is grave where no file says how many there are.
  void tell_of_no_list() {
    if (lists_all(*options_.files, checkpoint_.resolved)) return;
    const auto is_of_rank = [](const CheckpointFile& file) { return rank_group(file.path).has_value(); };
    const bool has_ranks = std::any_of(checkpoint_.files.begin(), checkpoint_.files.end(), is_of_rank);
    const bool has_sizes = std::any_of(sizes_.begin(), sizes_.end(), [](const auto& of) {
      return of.second.partitions || of.second.data || of.second.model;
    });
    const bool may_lack_ranks = has_ranks && !has_sizes;
    tell({may_lack_ranks ? Severity::warning : Severity::note, "not-listed",
          fmt::format("the server does not list all of this folder: {} files were found by the names that frameworks "
                      "give{}",
                      checkpoint_.files.size(),
                      may_lack_ranks ? ", and none of them says how many ranks there are" : ""),
          "", ""});
  }

  struct Absent {};
  using Outcome = std::variant<Reading, Error, std::exception_ptr, Absent>;
  // Where a move needed memory, and there is none, it would be none of these.
  static_assert(std::is_nothrow_move_constructible_v<Outcome>);

  Outcome outcome_of(const std::string& relative) {
    try {
      return read_checkpoint_file(relative, location(relative), options_);
    } catch (const Error& error) {
      if (is_expected_only_ && is_absence(error)) return Absent();
      return error;
    } catch (...) {
      return std::current_exception();
    }
  }

  /// Files of many: what cannot be read is told, and the others are read.
  void try_files(const std::string& prefix, const std::vector<std::string>& names) {
    InOrder<Outcome> outcomes([&](std::size_t i, Outcome outcome) {
      if (const auto* other = std::get_if<std::exception_ptr>(&outcome)) std::rethrow_exception(*other);
      if (const auto* error = std::get_if<Error>(&outcome)) return tell_of_unread(prefix + names[i], *error);
      if (std::holds_alternative<Absent>(outcome)) return;
      take(std::get<Reading>(std::move(outcome)));
    });
    const auto read = [&](std::size_t i) { outcomes.give(i, outcome_of(prefix + names[i])); };
    if (options_.files->is_shareable()) {
      const auto tell_progress = [&](std::size_t done) {
        if (options_.on_progress) options_.on_progress(done, names.size());
      };
      const auto for_each = is_distant(*options_.files) ? for_each_waiting : for_each_parallel;
      for_each(names.size(), read, tell_progress, most_at_once(*options_.files));
    } else {
      for (std::size_t i = 0; i < names.size(); ++i) read(i);
    }
    outcomes.finish();
  }

  void tell_of_unread(const std::string& relative, const Error& error) {
    unread_.push_back(relative);
    if (error.status == Status::unsupported && !is_meant_as_checkpoint(relative)) return;
    if (!first_error_) first_error_ = error;
    // SpeechBrain calls a text file counter.ckpt; what is known to be broken, or one rank's, is another matter.
    const bool is_other = error.status == Status::unsupported && error.hint.empty() && !rank_group(relative);
    tell({is_other ? Severity::note : Severity::error, "file-not-read", error.what(), relative, ""});
  }

  /// Of several files none is kept open.
  static void let_go_unless_small(CheckpointFile& file) {
    if (file.kept != nullptr && file.kept->image.empty()) file.kept.reset();
  }

  void take(Reading reading) {
    const std::size_t first = checkpoint_.files.size();
    const std::string path = reading.files.front().path;
    may_hold_more_ = may_hold_more_ || reading.may_hold_more;
    scaled_types_.have_int8 = scaled_types_.have_int8 || reading.scaled_types.have_int8;
    scaled_types_.have_float8 = scaled_types_.have_float8 || reading.scaled_types.have_float8;
    has_scaler_ = has_scaler_ || !reading.scalers.empty();
    if (!reading.contents.empty() && !has_scaler_ && contents_.size() < most_described) {
      contents_.push_back(fmt::format("{}: {}", path, reading.contents));
    }
    for (CheckpointFile& file : reading.files) {
      for (std::size_t& part : file.parts) part += first;
      if (first > 0) let_go_unless_small(file);
      if (file.kept != nullptr) kept_bytes_ += file.kept->image.size();
      if (kept_bytes_ > most_kept_bytes) file.kept.reset();
      checkpoint_.files.push_back(std::move(file));
    }
    if (first > 0) let_go_unless_small(checkpoint_.files.front());
    copies_.reserve(reading.scalers.size());
    for (; !reading.scalers.empty(); reading.scalers.pop_front()) {
      auto& [state, copy] = reading.scalers.front();
      copy.file += first;
      for (std::size_t& place : copy.places) place += first;
      if (copies_.add(std::move(state), std::move(copy), path)) options_.budget->take_memory(bytes_told);
    }
    for (SavedConfiguration& configuration : reading.configurations) keep(std::move(configuration), path);
    for (SeenTrainer& seen : reading.trainers) keep(std::move(seen));
    sizes_[rank_folder(path)].merge(reading.sizes);
    tell_all(reading.findings);
  }

  /// The first of each framework: what ranks were told is the same for all.
  void keep(SavedConfiguration configuration, const std::string& path) {
    const auto is_same = [&](const SavedConfiguration& other) { return other.places == configuration.places; };
    if (std::any_of(configurations_.begin(), configurations_.end(), is_same)) return;
    for (ConfiguredValue& value : configuration.values) value.from = path + ": " + value.from;
    configurations_.push_back(std::move(configuration));
  }

  /// The first file of each kind counts: ranks save alike, and with one release.
  void keep(SeenTrainer seen) {
    const auto is_same = [&](const SeenTrainer& other) {
      return other.trainer == seen.trainer && other.rows == seen.rows;
    };
    if (std::none_of(trainers_.begin(), trainers_.end(), is_same)) trainers_.push_back(std::move(seen));
  }

  /// Megatron's distributed format keeps the state in one file and its arguments in another.
  void configure(FoundScaler& scaler) const {
    if (!scaler.configuration.empty()) return;
    for (const SavedConfiguration& configuration : configurations_) {
      if (configuration.places != scaler.dialect->configuration) continue;
      std::copy_if(configuration.values.begin(), configuration.values.end(), std::back_inserter(scaler.configuration),
                   [&](const ConfiguredValue& value) {
                     const auto role = parse_role(value.key);
                     return !role || scaler.find(*role) == nullptr;
                   });
    }
  }

  [[noreturn]] void throw_nothing_read(const Listing& listing) const {
    if (first_error_) throw Error(*first_error_);
    std::string seen;
    if (!listing.skipped.empty()) seen = fmt::format(" (it has {})", fmt::join(listing.skipped, ", "));
    if (listing.unfinished != nullptr) {
      throw Error(Status::not_found, without_whole(checkpoint_.resolved, *listing.unfinished),
                  "take another checkpoint");
    }
    if (!listing.links.empty()) {
      // As the Hugging Face cache has it: a snapshot's files are links to what all snapshots share.
      throw Error(Status::not_found,
                  fmt::format("{}: no checkpoint in this folder but behind links that lead out of it ({})",
                              checkpoint_.resolved, fmt::join(listing.links, ", ")),
                  "links in a folder are not followed: give one of them by its name, or a copy (cp -rL) of the folder");
    }
    throw Error(Status::not_found, fmt::format("{}: no checkpoint in this folder{}", checkpoint_.resolved, seen),
                "give a checkpoint file, or a folder with checkpoint files in it" + way_below());
  }

  /// Folders of many runs lie deeper than what is looked at as one checkpoint.
  [[nodiscard]] std::string way_below() const {
    const auto leads_below = [](const FileEntry& entry) {
      return entry.type == FileType::folder && !entry.name.starts_with('.');
    };
    if (!std::ranges::any_of(options_.files->list(checkpoint_.resolved), leads_below)) return {};
    return fmt::format("; `tare ls {}` looks further below it", shell_path(checkpoint_.resolved));
  }

  void finish() {
    auto& findings = checkpoint_.findings;
    findings = findings_.take("rank file");
    checkpoint_.scalers = copies_.take(checkpoint_.files, findings);
    if (scaled_types_.have_int8 && !scaled_types_.have_float8) drop_scales_of_integers();
    for (Scaler& scaler : checkpoint_.scalers) configure(scaler.found);
    tell_layers_apart(checkpoint_.scalers, checkpoint_.files);
    settle_authority(checkpoint_.scalers, checkpoint_.files, findings);
    if (is_folder_) tell_of_incomplete_ranks(checkpoint_.scalers, checkpoint_.files, sizes_, findings);
    judge_scalers();
    for (Finding& finding : told_of_resumes(trainers_, has_scaler_)) findings.push_back(std::move(finding));
    tell_of_chains(checkpoint_.scalers, findings);
    tell_of_scales_far_apart(checkpoint_.scalers, findings);
    if (has_scaler_ || may_hold_more_) return;
    const std::size_t others = checkpoint_.files.size() - contents_.size();
    findings.push_back({Severity::note, "no-scaler",
                        fmt::format("no loss-scaler state that tare knows; {}{}", fmt::join(contents_, "; "),
                                    others == 0 ? "" : fmt::format("; and {} more", others)),
                        "", ""});
  }

  /// In a model in several files, scales whose weights stand in another than they do: of INT8, where that is what all
  /// weights are that stand beside theirs.
  void drop_scales_of_integers() {
    std::erase_if(checkpoint_.scalers, [](const Scaler& scaler) { return is_told_by_weight_alone(scaler.state()); });
    has_scaler_ = !checkpoint_.scalers.empty();
  }

  /// A model has thousands of layers: what is wrong with many of them alike is told once.
  void judge_scalers() {
    AlikeFindings of_layers;
    for (const Scaler& scaler : checkpoint_.scalers) {
      const bool is_layer = scaler.state().dialect->kind == "fp8";
      for (Finding& finding : is_layer ? judge_fp8(scaler.state()) : judge(scaler.state())) {
        finding.file = checkpoint_.files[scaler.copies.front().places.front()].path;
        const auto kin = is_layer ? std::optional(finding.code) : std::nullopt;
        of_layers.add(std::move(finding), kin);
      }
    }
    for (Finding& finding : of_layers.take("layer")) checkpoint_.findings.push_back(std::move(finding));
  }

  OpenOptions options_;
  std::string root_;  ///< the target without slashes behind it
  Checkpoint checkpoint_;
  CopyGroups copies_;
  AlikeFindings findings_;
  std::vector<SavedConfiguration> configurations_;
  std::vector<SeenTrainer> trainers_;
  std::vector<std::string> contents_;  ///< of the first files without a scaler
  std::optional<Error> first_error_;
  SizesByFolder sizes_;
  std::vector<std::string> unread_;
  bool is_folder_ = false;         ///< all files of a checkpoint are looked at, not the one that was asked for
  std::size_t kept_bytes_ = 0;     ///< of small files
  bool is_expected_only_ = false;  ///< what is read now need not be there
  bool has_scaler_ = false;
  ScaledTypes scaled_types_;    ///< of all files
  bool may_hold_more_ = false;  ///< there are files that nobody can read yet
};

}  // namespace

Checkpoint open_checkpoint(const std::string& path, const OpenOptions& options) {
  return Opener(path, options).open();
}

std::vector<std::size_t> whole_files(const Checkpoint& checkpoint) {
  std::vector<bool> is_part(checkpoint.files.size());
  for (std::size_t file = 0; file < is_part.size(); ++file) {
    for (const std::size_t part : checkpoint.files[file].parts) is_part[part] = is_part[part] || part != file;
  }
  std::vector<std::size_t> wholes;
  for (std::size_t file = 0; file < is_part.size(); ++file) {
    if (!is_part[file]) wholes.push_back(file);
  }
  return wholes;
}

std::vector<std::size_t> files_of(const Scaler& scaler) {
  std::vector<std::size_t> files;
  for (const ScalerCopy& copy : scaler.copies) files.insert(files.end(), copy.places.begin(), copy.places.end());
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

}  // namespace tare
