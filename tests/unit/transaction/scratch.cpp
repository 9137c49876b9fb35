#include "tests/unit/transaction/scratch.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/unit/transaction/scene.hpp"

namespace tare::test {
namespace fs = std::filesystem;

Scratch::Scratch() : Scratch(fs::temp_directory_path().string()) {}

Scratch::Scratch(const std::string& parent) {
  const fs::path folder = fs::is_directory(parent) ? fs::path(parent) : fs::temp_directory_path();
  std::string pattern = (fs::canonical(folder) / "tare-edit-XXXXXX").string();
  folder_ = ::mkdtemp(pattern.data());
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Scratch::write(const std::string& name, const Bytes& bytes) const {
  std::string at = path(name);
  fs::create_directories(fs::path(at).parent_path());
  std::ofstream(at, std::ios::binary).write(as_text(bytes).data(), static_cast<std::streamsize>(bytes.size()));
  timespec times[2] = {{0, UTIME_OMIT}, {0, 123'456'789}};
  times[1].tv_sec = ::time(nullptr) - 3600;
  ::utimensat(AT_FDCWD, at.c_str(), times, 0);
  return at;
}

std::string Scratch::write(const std::string& name, const std::string& text) const {
  const ByteView view = as_bytes(text);
  return write(name, Bytes(view.begin(), view.end()));
}

Bytes bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const ByteView view = as_bytes(text);
  return {view.begin(), view.end()};
}

struct stat stat_of(const std::string& path) {
  struct stat status {};
  ::lstat(path.c_str(), &status);
  return status;
}

bool exists(const std::string& path) {
  return fs::exists(fs::symlink_status(path));
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

FileEdit patch_edit(const std::string& path, std::uint64_t offset, const Bytes& after) {
  FileEdit edit{path, {{patch_of(bytes_of(path), offset, after)}, {}, {}}, {}};
  struct stat now {};
  ::stat(path.c_str(), &now);
  edit.planned = now;
  return edit;
}

Receipt edit(const std::string& path, std::uint64_t offset, const Bytes& after, const std::string& to,
             const TransactionOptions& options) {
  return commit(system_files(), {patch_edit(path, offset, after)}, {{path, "scaler", "scale", "65536.0", to}},
                sealed(options));
}

std::vector<HistoryEntry> history_of(const Scope& scope) {
  std::vector<HistoryEntry> entries;
  history(scope, [&](const HistoryEntry& entry) { entries.push_back(entry); });
  return entries;
}

}  // namespace tare::test
