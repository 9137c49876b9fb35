#include "lib/checkpoint/listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/checkpoint/distributed.hpp"
#include "lib/checkpoint/names.hpp"

namespace tare {
namespace {

namespace fs = std::filesystem;

/// universal/zero/optimizer_state.pt and mp_rank_00/model_optim_rng.pt are as deep as frameworks go.
constexpr int max_depth = 3;
constexpr std::size_t most_skipped = 5;

/// Files with these endings hold no state: text, pictures, data.
constexpr auto other_endings = std::to_array<std::string_view>({
    ".json", ".jsonl", ".txt", ".md",   ".yaml",    ".yml",    ".toml", ".ini", ".cfg",
    ".py",   ".sh",    ".log", ".csv",  ".tsv",     ".html",   ".png",  ".jpg", ".jpeg",
    ".svg",  ".pdf",   ".npy", ".gguf", ".parquet", ".sha256", ".lock", ".tmp",
});

class Lister {
 public:
  Lister(const std::string& directory, std::vector<Finding>& findings)
      : root_(fs::path(directory)), findings_(findings) {}

  Listing list() {
    visit(root_, "", 0);
    const auto by_name = [](const std::string& a, const std::string& b) { return natural_less(a, b); };
    std::sort(listing_.files.begin(), listing_.files.end(), by_name);
    std::sort(listing_.weights.begin(), listing_.weights.end(), by_name);
    std::sort(listing_.distributed.begin(), listing_.distributed.end(), by_name);
    keep_global_metadata();
    std::sort(listing_.skipped.begin(), listing_.skipped.end(), by_name);
    return std::move(listing_);
  }

 private:
  void visit(const fs::path& folder, const std::string& prefix, int depth) {
    std::vector<std::string> folders;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
      if (++seen_ > limits::max_files) {
        throw Error(Status::refused, fmt::format("{}: more than {} files", root_.string(), limits::max_files),
                    "give the checkpoint's own folder");
      }
      const std::string name = entry->path().filename().string();
      std::error_code ignored;
      const fs::file_status status = entry->symlink_status(ignored);
      if (fs::is_symlink(status)) {
        tell_of_link(entry->path(), prefix + name);
      } else if (fs::is_directory(status)) {
        if (name.front() != '.') folders.push_back(name);
      } else if (fs::is_regular_file(status)) {
        take(name, prefix);
      }
    }
    if (error && depth == 0) throw_io(folder.string(), error.value());
    if (error) {
      findings_.push_back(
          {Severity::error, "file-not-read", fmt::format("{}: {}", prefix, error.message()), prefix, ""});
      return;
    }
    if (depth == max_depth || is_universal(folder)) return;
    for (const std::string& name : folders) visit(folder / name, prefix + name + "/", depth + 1);
  }

  /// A universal DeepSpeed checkpoint has a folder for each parameter beside the one file with the scaler.
  static bool is_universal(const fs::path& folder) {
    std::error_code ignored;
    return folder.filename() == "zero" && fs::is_regular_file(folder / "optimizer_state.pt", ignored);
  }

  void take(const std::string& name, const std::string& prefix) {
    const std::string ending = extension(name);
    if (ending == ".distcp") listing_.has_distributed_data = true;
    const bool is_other = std::find(other_endings.begin(), other_endings.end(), ending) != other_endings.end();
    if (is_distributed_metadata(name)) {
      listing_.distributed.push_back(prefix + name);
    } else if (ending == ".safetensors") {
      listing_.weights.push_back(prefix + name);
    } else if (!is_other && name.front() != '.' && ending != ".distcp") {
      listing_.files.push_back(prefix + name);
    } else if (listing_.skipped.size() < most_skipped) {
      listing_.skipped.push_back(prefix + name);
    }
  }

  /// As torch loads: where there is one metadata file of all ranks, those of single ranks do not count.
  void keep_global_metadata() {
    auto& found = listing_.distributed;
    const auto is_overruled = [&](const std::string& path) {
      const std::string global = path.substr(0, path.size() - file_name(path).size()) + ".metadata";
      return path != global && std::find(found.begin(), found.end(), global) != found.end();
    };
    std::vector<std::string> kept;
    std::copy_if(found.begin(), found.end(), std::back_inserter(kept),
                 [&](const std::string& path) { return !is_overruled(path); });
    found = std::move(kept);
  }

  void tell_of_link(const fs::path& link, const std::string& relative) {
    std::error_code error;
    const fs::path target = fs::canonical(link, error);
    const fs::path root = fs::canonical(root_, error);
    if (!error && std::mismatch(root.begin(), root.end(), target.begin(), target.end()).first == root.end()) return;
    findings_.push_back({Severity::warning, "link-not-followed",
                         fmt::format("{} is a symbolic link out of the checkpoint and not followed; give it as the "
                                     "target if it is meant",
                                     relative),
                         relative, ""});
  }

  fs::path root_;
  std::vector<Finding>& findings_;
  Listing listing_;
  std::size_t seen_ = 0;
};

}  // namespace

Listing list_files(const std::string& directory, std::vector<Finding>& findings) {
  return Lister(directory, findings).list();
}

}  // namespace tare
