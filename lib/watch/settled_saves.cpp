#include "lib/watch/settled_saves.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>

#include "lib/base/error.hpp"
#include "lib/trace/saved_step.hpp"

namespace tare {

namespace {

constexpr int deepest_save = 3;
constexpr std::size_t most_entries = 20'000;

struct Signature {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  std::time_t newest = 0;
  std::size_t entries = 0;

  void add(std::uint64_t value) { hash = (hash ^ value) * 1099511628211U; }
};

/// Of what lies there: names, sizes, times. Logs that grow beside the files of a checkpoint are none of it.
void sign(const std::string& path, const Files& files, int depth, Signature& signature) {
  struct stat there {};
  if (++signature.entries > most_entries || ::lstat(path.c_str(), &there) != 0) return;
  for (const char c : path) signature.add(static_cast<unsigned char>(c));
  if (!S_ISDIR(there.st_mode)) {
    signature.add(static_cast<std::uint64_t>(there.st_size));
    signature.add(static_cast<std::uint64_t>(there.st_ino));
    signature.add(static_cast<std::uint64_t>(there.st_mtim.tv_sec));
    signature.add(static_cast<std::uint64_t>(there.st_mtim.tv_nsec));
    // A copy may have its original's time of writing.
    signature.newest = std::max({signature.newest, there.st_mtim.tv_sec, there.st_ctim.tv_sec});
    return;
  }
  if (depth == deepest_save) return;
  try {
    auto entries = files.list(path);
    std::ranges::sort(entries, {}, &FileEntry::name);
    for (const FileEntry& entry : entries) {
      if (!entry.name.starts_with('.') && !is_no_checkpoint(entry.name)) {
        sign(path + "/" + entry.name, files, depth + 1, signature);
      }
    }
  } catch (const Error&) {  // it is taken away
    return;
  }
}

}  // namespace

std::optional<Save> SettledSaves::read(const std::string& path) {
  Signature now;
  sign(path, files_, 0, now);
  Known& known = known_[path];
  if (known.signature != now.hash) {
    known.signature = now.hash;
    known.since = Clock::now();
    known.is_read = false;
    known.save.reset();
  }
  if (known.is_read) return known.save;
  // What was left alone long before anybody looked need not be waited for; clocks of file servers may be off.
  constexpr int times = 4;
  const bool is_old = std::time(nullptr) - now.newest > times * settle_.count();
  if (!is_old && Clock::now() - known.since < settle_) {
    waits_ = true;
    return {};
  }
  known.save = read_save(path, files_, Budget::of_files("the checkpoint"));
  known.is_read = true;
  if (known.save && known.save->has_scaler) ++version_;
  return known.save;
}

}  // namespace tare
