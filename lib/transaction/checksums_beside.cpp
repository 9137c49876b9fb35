// Sums that people and tools keep beside a file. tare does not rewrite them (they say what the file was when somebody
// vouched for it); it says that they no longer hold.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/limits.hpp"
#include "lib/transaction/folder.hpp"
#include "lib/transaction/transaction.hpp"

namespace tare {
namespace {

constexpr std::array own_suffixes = {".sha256", ".sha256sum", ".sha512", ".sha1", ".md5",
                                     ".md5sum", ".b3",        ".crc32",  ".dvc"};
constexpr std::array lists = {"SHA256SUMS",       "SHA512SUMS",    "SHA1SUMS",       "MD5SUMS",
                              "SHA256SUMS.txt",   "MD5SUMS.txt",   "sha256sums.txt", "md5sums.txt",
                              "sha256sum.txt",    "md5sum.txt",    "sha256.txt",     "md5.txt",
                              "checksums.sha256", "checksums.md5", "checksums.txt",  "checksums.json",
                              "checklist.chk",    ".md5sums",      "integrity.json", "manifest.json"};

/// What lies under a name of sums: its text, empty where there is nothing; or why it is not known.
struct Beside {
  std::string text;
  std::string unread;
};

/// A name or a path that is too long for the system is no file's.
bool is_absent(int looked) {
  return looked == -ENOENT || looked == -ENOTDIR || looked == -ENAMETOOLONG;
}

std::string reason_of(int looked) {
  return std::generic_category().message(-looked);
}

bool is_later(const timespec& a, const timespec& b) {
  return std::tie(a.tv_sec, a.tv_nsec) > std::tie(b.tv_sec, b.tv_nsec);
}

Beside read_beside(const Folder& folder, const std::string& name, timespec since) {
  struct stat status {};
  const int looked = folder.files().stat_at(folder.descriptor(), name, status);
  if (is_absent(looked)) return {};
  if (looked < 0) return {{}, reason_of(looked)};
  if (S_ISDIR(status.st_mode) || !is_later(status.st_mtim, since)) return {};
  if (!S_ISREG(status.st_mode)) return {{}, "not a regular file"};
  if (static_cast<std::uint64_t>(status.st_size) > limits::max_small_text_bytes) return {{}, "too large to look into"};
  try {
    const OpenFile file = folder.open(name, O_RDONLY);
    return {std::string(as_text(file.read({0, static_cast<std::uint64_t>(status.st_size)}))), {}};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

/// Is `name` in the text as a whole word, not as the end of another name?
bool names(const std::string& text, const std::string& name) {
  const auto is_part = [](char c) {
    constexpr std::string_view around = "/*\"',:()";  // "SHA256 (NAME) = ..." as BSD has it
    return c > ' ' && around.find(c) == around.npos;
  };
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

Finding stale(const std::string& sums, const std::string& path) {
  return {Severity::warning, "stale-checksum", fmt::format("{} no longer holds for {}", sums, path), path, {}};
}

Finding unread(const std::string& sums, const std::string& path, const std::string& why) {
  return {Severity::warning,
          "checksum-not-read",
          fmt::format("{} may no longer hold for {}: it cannot be read: {}", sums, path, why),
          path,
          {}};
}

/// `name`: of the sums of `path` alone.
void add_own_sums(const Folder& folder, const std::string& path, const std::string& name, timespec since,
                  std::vector<Finding>& findings) {
  struct stat status {};
  const int looked = folder.files().stat_at(folder.descriptor(), name, status);
  const std::string sums = joined(folder.path(), name);
  if (looked == 0) {
    if (is_later(status.st_mtim, since)) findings.push_back(stale(sums, path));
  } else if (!is_absent(looked)) {
    findings.push_back(unread(sums, path, reason_of(looked)));
  }
}

/// Where the folder cannot be opened any more, `findings` says what is not known.
std::optional<Folder> folder_beside(FileLayer& files, const std::string& path, std::vector<Finding>& findings) {
  try {
    return Folder::find(files, folder_of(path));
  } catch (const Error& error) {
    findings.push_back(unread("what lies beside it", path, error.what()));
    return std::nullopt;
  }
}

/// Names of sums in a folder. Where many of its files were edited it is listed once, and what it lacks is not looked
/// for.
class SumsIn {
 public:
  SumsIn(const Folder& folder, std::size_t edited) {
    constexpr std::size_t few = 4;
    std::vector<FileEntry> entries;
    is_listed_ = edited > few && folder.files().list(folder.descriptor(), limits::max_files, entries) == 0 &&
                 entries.size() < limits::max_files;
    for (FileEntry& entry : entries) {
      if (is_of_sums(entry.name)) names_.insert(std::move(entry.name));
    }
  }

  [[nodiscard]] bool may_have(const std::string& name) const { return !is_listed_ || names_.contains(name); }

 private:
  static bool is_of_sums(std::string_view name) {
    return std::ranges::any_of(own_suffixes, [&](const char* suffix) { return name.ends_with(suffix); }) ||
           std::ranges::any_of(lists, [&](const char* list) { return name == list; });
  }

  bool is_listed_ = false;
  std::set<std::string> names_;
};

std::map<std::string, std::size_t> files_by_folder(const std::vector<std::string>& paths) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& path : paths) ++counts[folder_of(path)];
  return counts;
}

}  // namespace

std::vector<Finding> stale_checksums(FileLayer& files, const std::vector<std::string>& paths, timespec since) {
  std::vector<Finding> findings;
  const std::set<std::string> edited(paths.begin(), paths.end());
  const auto counts = files_by_folder(paths);
  std::map<std::string, std::optional<Folder>> folders;
  std::map<std::string, SumsIn> sums_in;
  std::map<std::string, Beside> lists_read;
  for (const std::string& path : paths) {
    const auto [opened, is_first] = folders.try_emplace(folder_of(path));
    if (is_first || !opened->second) opened->second = folder_beside(files, path, findings);
    const std::optional<Folder>& folder = opened->second;
    if (!folder) continue;
    const std::string own(file_name(path));
    const SumsIn& there = sums_in.try_emplace(folder->path(), *folder, counts.at(folder->path())).first->second;
    for (const char* suffix : own_suffixes) {
      if (!there.may_have(own + suffix)) continue;
      if (!edited.contains(path + suffix)) add_own_sums(*folder, path, own + suffix, since, findings);
    }
    for (const char* list : lists) {
      const std::string sums = joined(folder->path(), list);
      if (!there.may_have(list) || edited.contains(sums)) continue;
      const auto [known, is_new] = lists_read.try_emplace(sums);
      if (is_new) known->second = read_beside(*folder, list, since);
      const Beside& beside = known->second;
      if (!beside.unread.empty()) findings.push_back(unread(sums, path, beside.unread));
      if (names(beside.text, own)) findings.push_back(stale(sums, path));
    }
  }
  return findings;
}

}  // namespace tare
