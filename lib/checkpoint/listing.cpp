#include "lib/checkpoint/listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/holds.hpp"
#include "lib/base/limits.hpp"
#include "lib/checkpoint/last_saved.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/checkpoint/several_files.hpp"
#include "lib/container/orbax/metadata.hpp"

namespace tare {
namespace {

/// universal/zero/optimizer_state.pt and mp_rank_00/model_optim_rng.pt are as deep as frameworks go.
constexpr int max_depth = 3;
constexpr std::size_t most_skipped = 5;

/// Files with these endings hold no state: text, pictures, data.
constexpr auto other_endings = std::to_array<std::string_view>({
    ".json", ".jsonl", ".txt", ".md",   ".yaml",    ".yml",    ".toml", ".ini", ".cfg",
    ".py",   ".sh",    ".log", ".csv",  ".tsv",     ".html",   ".png",  ".jpg", ".jpeg",
    ".svg",  ".pdf",   ".npy", ".gguf", ".parquet", ".sha256", ".lock", ".tmp",
});

/// Files of these names hold none either.
constexpr auto other_names = std::to_array<std::string_view>({"_CHECKPOINT_METADATA"});  // of an Orbax step

/// What Orbax puts into each item's folder beside the file that it is opened by.
constexpr std::string_view orbax_note = "_sharding";

/// Files of these names do, whatever their ending: lerobot's scaler, mindformers' counters.
constexpr auto state_names = std::to_array<std::string_view>({"scaler_state.json", "common.json"});

class Lister {
 public:
  Lister(const Files& files, const std::string& directory, std::vector<Finding>& findings)
      : files_(files), root_(directory), findings_(findings) {}

  Listing list() {
    visit(root_, "", 0);
    const auto by_name = [](const std::string& a, const std::string& b) { return natural_less(a, b); };
    std::sort(listing_.files.begin(), listing_.files.end(), by_name);
    std::sort(listing_.weights.begin(), listing_.weights.end(), by_name);
    std::sort(listing_.wholes.begin(), listing_.wholes.end(), by_name);
    drop_overruled();
    drop_parts();
    tell_of_unfinished();
    std::sort(listing_.skipped.begin(), listing_.skipped.end(), by_name);
    std::sort(listing_.links.begin(), listing_.links.end(), by_name);
    return std::move(listing_);
  }

 private:
  void visit(const std::string& folder, const std::string& prefix, int depth) {
    std::vector<FileEntry> entries;
    try {
      entries = files_.list(folder);
    } catch (const Error& error) {
      if (depth == 0) throw;
      findings_.push_back({Severity::error, "file-not-read", error.what(), prefix, ""});
      return;
    }
    seen_ += entries.size();
    if (seen_ > limits::max_files) {
      throw Error(Status::refused, fmt::format("{}: more than {} files", root_, limits::max_files),
                  "give the checkpoint's own folder");
    }
    const auto is_zarr = [](const FileEntry& entry) { return entry.name == ".zarray"; };
    if (std::any_of(entries.begin(), entries.end(), is_zarr)) return;  // the chunks of one array
    const bool is_item = std::any_of(entries.begin(), entries.end(), owns_folder);
    const auto is_note = [](const FileEntry& entry) { return entry.name == orbax_note; };
    if (!is_item && std::any_of(entries.begin(), entries.end(), is_note)) {
      formats_of_parts_.insert(format_of_whole(orbax_metadata_name));
    }
    const auto last = last_saved(files_, folder, entries);
    for (const auto& [name, type] : entries) {
      if (type == FileType::link) tell_of_link(fmt::format("{}/{}", folder, name), prefix + name);
      if (last && is_replaced(name, *last)) continue;
      if (type == FileType::file && (!is_item || format_of_whole(name) != nullptr)) take(name, prefix);
    }
    if (last) tell_of_last(prefix + *last);
    if (depth == max_depth || is_item || is_universal(folder)) return;
    for (const auto& [name, type] : entries) {
      if (type != FileType::folder || name.front() == '.') continue;
      visit(fmt::format("{}/{}", folder, name), fmt::format("{}{}/", prefix, name), depth + 1);
    }
  }

  /// Nothing else in its folder is anything by itself.
  static bool owns_folder(const FileEntry& entry) {
    const SeveralFiles* format = entry.type == FileType::file ? format_of_whole(entry.name) : nullptr;
    return format != nullptr && format->owns_folders;
  }

  /// A universal DeepSpeed checkpoint has a folder for each parameter beside the one file with the scaler.
  [[nodiscard]] bool is_universal(const std::string& folder) const {
    return file_name(folder) == "zero" && files_.type(folder + "/optimizer_state.pt") == FileType::file;
  }

  void take(const std::string& name, const std::string& prefix) {
    const std::string ending = extension(name);
    const SeveralFiles* part_of = format_of_part(name);
    if (part_of != nullptr && part_of->parts_stand_alone) part_of = nullptr;
    if (part_of != nullptr) formats_of_parts_.insert(part_of);
    const bool is_other = !holds(state_names, name) && (holds(other_endings, ending) || holds(other_names, name));
    if (format_of_whole(name) != nullptr) {
      listing_.wholes.push_back(prefix + name);
    } else if (ending == ".safetensors") {
      listing_.weights.push_back(prefix + name);
    } else if (!is_other && name.front() != '.' && part_of == nullptr) {
      listing_.files.push_back(prefix + name);
    } else if (listing_.skipped.size() < most_skipped) {
      listing_.skipped.push_back(prefix + name);
    }
  }

  /// As torch loads: where there is one metadata file of all ranks, those of single ranks do not count.
  void drop_overruled() {
    auto& found = listing_.wholes;
    const std::set<std::string_view> all(found.begin(), found.end());
    const auto is_overruled = [&](const std::string& path) {
      const std::string_view overruling = format_of_whole(file_name(path))->overruling;
      const std::string other = path.substr(0, path.size() - file_name(path).size()).append(overruling);
      return path != other && all.contains(other);
    };
    std::vector<std::string> kept;
    std::copy_if(found.begin(), found.end(), std::back_inserter(kept),
                 [&](const std::string& path) { return !is_overruled(path); });
    found = std::move(kept);
  }

  /// Files that could stand alone, but belong to a whole that is there.
  void drop_parts() {
    const std::set<std::string_view> all(listing_.wholes.begin(), listing_.wholes.end());
    std::erase_if(listing_.files, [&](const std::string& path) {
      const std::string_view name = file_name(path);
      const SeveralFiles* format = format_of_part(name);
      if (format == nullptr) return false;
      const std::string folder = path.substr(0, path.size() - name.size());
      const std::vector<std::string> wholes = format->wholes_of(name);
      return std::any_of(wholes.begin(), wholes.end(),
                         [&](const std::string& whole) { return all.contains(folder + whole); });
    });
  }

  void tell_of_unfinished() {
    for (const std::string& whole : listing_.wholes) formats_of_parts_.erase(format_of_whole(file_name(whole)));
    if (!formats_of_parts_.empty()) listing_.unfinished = *formats_of_parts_.begin();
  }

  void tell_of_last(const std::string& file) {
    findings_.push_back({Severity::note, "run-directory",
                         fmt::format("{} is what mindformers resumes from in its folder (meta.json)", file_name(file)),
                         file, ""});
  }

  void tell_of_link(const std::string& link, const std::string& relative) {
    if (files_.is_inside(link, root_)) return;
    if (listing_.links.size() < most_skipped) listing_.links.push_back(relative);
    findings_.push_back({Severity::warning, "link-not-followed",
                         fmt::format("{} is a symbolic link out of the checkpoint and not followed; give it as the "
                                     "target if it is meant",
                                     relative),
                         relative, ""});
  }

  const Files& files_;
  std::string root_;
  std::vector<Finding>& findings_;
  Listing listing_;
  std::set<const SeveralFiles*> formats_of_parts_;
  std::size_t seen_ = 0;
};

}  // namespace

Listing list_files(const Files& files, const std::string& directory, std::vector<Finding>& findings) {
  return Lister(files, directory, findings).list();
}

bool is_unfinished(const Files& files, const std::string& path) {
  std::vector<Finding> findings;
  return files.type(path) == FileType::folder && list_files(files, path, findings).unfinished != nullptr;
}

}  // namespace tare
