// Sums that people and tools keep beside a file. tare does not rewrite them (they say what the file was when somebody
// vouched for it); it says that they no longer hold.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "lib/base/limits.hpp"
#include "lib/transaction/transaction.hpp"

namespace tare {
namespace {

constexpr std::array own_suffixes = {".sha256", ".sha256sum", ".sha512", ".sha1", ".md5", ".md5sum", ".b3", ".crc32"};
constexpr std::array lists = {"SHA256SUMS",  "SHA512SUMS",    "SHA1SUMS",       "MD5SUMS",        "sha256sums.txt",
                              "md5sums.txt", "checksums.txt", "checksums.json", "integrity.json", "manifest.json"};

/// The text of a small regular file, or nothing.
std::string text_of(FileLayer& files, const std::string& path) {
  const auto place = place_of(files, path);
  const auto status = place ? place->status() : std::nullopt;
  if (!status || !S_ISREG(status->st_mode)) return {};
  const auto size = static_cast<std::uint64_t>(status->st_size);
  if (size > limits::max_small_text_bytes) return {};
  const int opened = place->folder.try_open(place->name, O_RDONLY);
  if (opened < 0) return {};
  const Bytes bytes = OpenFile::adopt(files, path, opened).read({0, size});
  return std::string(as_text(bytes));
}

/// Is `name` in the text as a whole word, not as the end of another name?
bool names(const std::string& text, const std::string& name) {
  const auto is_part = [](char c) {
    return c != '/' && c != '*' && c != '"' && c != '\'' && c > ' ' && c != ',' && c != ':';
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

}  // namespace

std::vector<Finding> stale_checksums(FileLayer& files, const std::vector<std::string>& paths) {
  std::vector<Finding> findings;
  const std::set<std::string> edited(paths.begin(), paths.end());
  std::map<std::string, std::string> texts;
  for (const std::string& path : paths) {
    for (const char* suffix : own_suffixes) {
      const std::string sums = path + suffix;
      if (!edited.contains(sums) && status_of(files, sums)) findings.push_back(stale(sums, path));
    }
    for (const char* list : lists) {
      const std::string sums = joined(folder_of(path), list);
      if (edited.contains(sums)) continue;
      const auto [known, is_new] = texts.try_emplace(sums);
      if (is_new) known->second = text_of(files, sums);
      if (names(known->second, path.substr(path.rfind('/') + 1))) findings.push_back(stale(sums, path));
    }
  }
  return findings;
}

}  // namespace tare
