// Opening a checkpoint: which files there are, what each holds, and what that says together.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "lib/base/error.hpp"
#include "lib/checkpoint/authority.hpp"
#include "lib/checkpoint/checkpoint.hpp"
#include "lib/checkpoint/distributed.hpp"
#include "lib/checkpoint/group.hpp"
#include "lib/checkpoint/listing.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/checkpoint/resolve.hpp"

namespace tare {
namespace {

namespace fs = std::filesystem;

/// A file with one of these endings is meant to be a checkpoint: if it is in no known format, something is wrong.
constexpr auto checkpoint_endings = std::to_array<std::string_view>({".pt", ".pth", ".ckpt", ".tar"});
/// How many files are described where no scaler is found.
constexpr std::size_t most_described = 3;

bool is_meant_as_checkpoint(std::string_view path) {
  const std::string ending = extension(path);
  return std::find(checkpoint_endings.begin(), checkpoint_endings.end(), ending) != checkpoint_endings.end();
}

class Opener {
 public:
  Opener(const std::string& target, const OpenOptions& options) : options_(options) {
    checkpoint_.target = checkpoint_.resolved = target;
  }

  Checkpoint open() {
    tell_of_link();
    std::error_code ignored;
    if (fs::is_directory(checkpoint_.target, ignored)) {
      open_directory();
    } else {
      read_file(file_name(checkpoint_.target), checkpoint_.target);
    }
    finish();
    return std::move(checkpoint_);
  }

 private:
  void tell_of_link() {
    std::error_code ignored;
    if (!fs::is_symlink(fs::symlink_status(checkpoint_.target, ignored))) return;
    const fs::path to = fs::read_symlink(checkpoint_.target, ignored);
    checkpoint_.findings.push_back({Severity::note, "symbolic-link",
                                    fmt::format("{} is a symbolic link to {}", checkpoint_.target, to.string()), "",
                                    ""});
  }

  void open_directory() {
    const std::string inner = resolve_run(checkpoint_.target, checkpoint_.findings);
    const std::string prefix = inner.empty() ? "" : inner + "/";
    if (!inner.empty()) checkpoint_.resolved = location(inner);
    if (std::error_code ignored; fs::is_regular_file(checkpoint_.resolved, ignored)) {
      read_file(inner, checkpoint_.resolved);
      return;
    }
    const Listing listing = list_files(checkpoint_.resolved, checkpoint_.findings);
    for (const std::string& metadata : listing.distributed) try_file(prefix + metadata);
    for (const std::string& file : listing.files) try_file(prefix + file);
    if (checkpoint_.files.empty() && !first_error_) {
      for (const std::string& file : listing.weights) try_file(prefix + file);
    }
    if (checkpoint_.files.empty()) throw_nothing_read(listing);
    if (listing.has_distributed_data && listing.distributed.empty()) {
      checkpoint_.findings.push_back({Severity::warning, "incomplete-checkpoint",
                                      ".distcp files without .metadata: the save never finished, and torch loads "
                                      "nothing of them",
                                      "", ""});
    }
  }

  [[nodiscard]] std::string location(const std::string& relative) const {
    return checkpoint_.target.ends_with('/') ? checkpoint_.target + relative : checkpoint_.target + "/" + relative;
  }

  /// One file of many: what cannot be read is told, and the others are read.
  void try_file(const std::string& relative) {
    const std::size_t findings = checkpoint_.findings.size();
    const std::size_t copies = copies_.size();
    try {
      read_file(relative, location(relative));
    } catch (const Error& error) {
      checkpoint_.findings.resize(findings);
      copies_.resize(copies);
      if (error.status == Status::unsupported && !is_meant_as_checkpoint(relative)) return;
      if (!first_error_) first_error_ = error;
      // SpeechBrain calls a text file counter.ckpt; what is known to be broken, or one rank's, is another matter.
      const bool is_other = error.status == Status::unsupported && error.hint.empty() && !rank_group(relative);
      checkpoint_.findings.push_back(
          {is_other ? Severity::note : Severity::error, "file-not-read", error.what(), relative, ""});
    }
  }

  void read_file(std::string_view relative, const std::string& from) {
    if (is_distributed_metadata(file_name(relative))) {
      read_distributed(relative, from);
      return;
    }
    auto source = std::make_shared<const FileSource>(from);
    std::unique_ptr<const Container> container = open_container(source);
    std::vector<Finding> findings = container->findings();
    std::vector<FoundScaler> scalers = find_scalers(container->tree(), {relative}, findings);
    const auto is_unread = [](const Finding& finding) { return finding.code == "format-not-read"; };
    const bool unread = std::any_of(findings.begin(), findings.end(), is_unread);
    may_hold_more_ = may_hold_more_ || unread;
    if (!unread && scalers.empty() && copies_.empty() && contents_.size() < most_described) {
      contents_.push_back(fmt::format("{}: {}", relative, describe_contents(container->tree())));
    }
    for (Finding& finding : findings) {
      finding.file = relative;
      checkpoint_.findings.push_back(std::move(finding));
    }
    const std::size_t index = checkpoint_.files.size();
    for (FoundScaler& scaler : scalers) copies_.push_back({index, std::move(scaler), {index}});
    add_file(std::string(relative), from, container->format(), std::move(source));
    if (options_.keep_open) checkpoint_.files.back().container = std::move(container);
  }

  void add_file(std::string path, std::string from, std::string_view format, std::shared_ptr<const FileSource> source) {
    CheckpointFile& file = checkpoint_.files.emplace_back();
    file.path = std::move(path);
    file.location = std::move(from);
    file.format = format;
    file.size = source->size();
    if (options_.keep_open) file.source = std::move(source);
  }

  void read_distributed(std::string_view relative, const std::string& from) {
    const std::string name(file_name(relative));
    const std::string prefix(relative.substr(0, relative.size() - name.size()));
    const std::string folder = from.substr(0, from.size() - name.size());
    const auto directory = std::make_shared<const Directory>(folder.empty() ? "." : folder);
    Distributed opened = open_distributed(directory, name);
    const Container& container = *opened.container;
    std::vector<Finding> findings = container.findings();
    std::vector<FoundScaler> scalers = find_scalers(container.tree(), {relative}, findings);
    tell_of_missing(*directory, opened.all_files, findings);
    if (scalers.empty() && copies_.empty() && contents_.size() < most_described) {
      contents_.push_back(fmt::format("{}: {}", relative, opened.contents));
    }
    for (Finding& finding : findings) {
      finding.file = prefix + (finding.file.empty() ? name : finding.file);
      checkpoint_.findings.push_back(std::move(finding));
    }
    const std::size_t first = checkpoint_.files.size();
    std::vector<std::size_t> parts;
    for (const std::string& part : container.parts()) {
      parts.push_back(checkpoint_.files.size());
      add_file(prefix + part, folder + part, container.format(), directory->file(part));
    }
    for (FoundScaler& scaler : scalers) {
      std::set<std::size_t> places;
      for (const Field& field : scaler.fields) places.insert(parts[container.part_of(field.node)]);
      copies_.push_back({first, std::move(scaler), {places.begin(), places.end()}});
    }
    checkpoint_.files[first].parts = std::move(parts);
    if (options_.keep_open) checkpoint_.files[first].container = std::move(opened.container);
  }

  static void tell_of_missing(const Directory& directory, const std::vector<std::string>& files,
                              std::vector<Finding>& findings) {
    std::vector<std::string> missing;
    std::copy_if(files.begin(), files.end(), std::back_inserter(missing),
                 [&](const std::string& file) { return !directory.has(file); });
    if (missing.empty()) return;
    const std::size_t count = missing.size();
    missing.resize(std::min(count, most_described));
    findings.push_back(
        {Severity::warning, "incomplete-checkpoint",
         fmt::format("{} of its {} files {} not there, so torch cannot load all of it: {}{}", count, files.size(),
                     count == 1 ? "is" : "are", fmt::join(missing, ", "), count > missing.size() ? " ..." : ""),
         "", ""});
  }

  [[noreturn]] void throw_nothing_read(const Listing& listing) const {
    if (first_error_) throw Error(*first_error_);
    std::string seen;
    if (!listing.skipped.empty()) seen = fmt::format(" (it has {})", fmt::join(listing.skipped, ", "));
    if (listing.has_distributed_data) {
      throw Error(Status::not_found, fmt::format("{}: .distcp files without .metadata", checkpoint_.resolved),
                  "the save never finished: take another checkpoint");
    }
    throw Error(Status::not_found, fmt::format("{}: no checkpoint in this folder{}", checkpoint_.resolved, seen),
                "give a checkpoint file, or a folder with checkpoint files in it");
  }

  /// What is true of many rank files alike is told once, of the first.
  void merge_alike() {
    std::map<std::tuple<std::string, std::string, std::string>, std::size_t> first;
    std::vector<std::size_t> more;
    std::vector<Finding> kept;
    for (Finding& finding : checkpoint_.findings) {
      const auto group = rank_group(finding.file);
      if (group && finding.severity != Severity::error) {
        const auto [known, is_new] = first.try_emplace({*group, finding.message, finding.path}, kept.size());
        if (!is_new) {
          ++more[known->second];
          continue;
        }
      }
      kept.push_back(std::move(finding));
      more.push_back(0);
    }
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (more[i] > 0)
        kept[i].message += fmt::format(" (and so in {} more rank file{})", more[i], more[i] == 1 ? "" : "s");
    }
    checkpoint_.findings = std::move(kept);
  }

  void finish() {
    merge_alike();
    auto& findings = checkpoint_.findings;
    const bool is_empty = copies_.empty();
    checkpoint_.scalers = group_copies(std::move(copies_), checkpoint_.files, findings);
    settle_authority(checkpoint_.scalers, checkpoint_.files, findings);
    for (const Scaler& scaler : checkpoint_.scalers) {
      for (Finding& finding : judge(scaler.state())) {
        finding.file = checkpoint_.files[scaler.copies.front().places.front()].path;
        findings.push_back(std::move(finding));
      }
    }
    if (!is_empty || may_hold_more_) return;
    const std::size_t others = checkpoint_.files.size() - contents_.size();
    findings.push_back({Severity::note, "no-scaler",
                        fmt::format("no loss-scaler state that tare knows; {}{}", fmt::join(contents_, "; "),
                                    others == 0 ? "" : fmt::format("; and {} more", others)),
                        "", ""});
  }

  OpenOptions options_;
  Checkpoint checkpoint_;
  std::vector<ScalerCopy> copies_;
  std::vector<std::string> contents_;  ///< of the first files without a scaler
  std::optional<Error> first_error_;
  bool may_hold_more_ = false;  ///< there are files that nobody can read yet
};

}  // namespace

Checkpoint open_checkpoint(const std::string& path, const OpenOptions& options) {
  return Opener(path, options).open();
}

std::vector<std::size_t> files_of(const Scaler& scaler) {
  std::vector<std::size_t> files;
  for (const ScalerCopy& copy : scaler.copies) files.insert(files.end(), copy.places.begin(), copy.places.end());
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

}  // namespace tare
