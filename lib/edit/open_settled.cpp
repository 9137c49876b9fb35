#include "lib/edit/open_settled.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

#include "lib/base/error.hpp"
#include "lib/base/file_identity.hpp"
#include "lib/base/parallel.hpp"
#include "lib/transaction/history.hpp"

namespace tare {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int most_attempts = 8;
constexpr auto first_pause = std::chrono::milliseconds(8);  // and twice as long each time: a second in all
/// A failure may be that of a file which was half written; where it came this soon, looking again costs nothing.
constexpr auto soon = std::chrono::milliseconds(50);
constexpr int most_failures = 3;

/// By the time of its status, too: an undo restores all others.
bool is_as_read(const CheckpointFile& file) {
  if (!file.stamp) return true;
  struct stat now {};
  return ::stat(file.location.c_str(), &now) == 0 && is_same_file(now, *file.stamp) &&
         is_same_time(now.st_ctim, file.stamp->changed);
}

bool are_as_read(const std::vector<CheckpointFile>& files) {
  std::atomic<bool> are = true;
  for_each_parallel(files.size(),
                    [&](std::size_t index) {
                      if (!is_as_read(files[index])) are = false;
                    },
                    {});
  return are;
}

bool is_in_progress(const std::optional<Pending>& pending) {
  return pending && pending->state == PendingState::in_progress;
}

/// What could not be read has no status that would tell whether it changed.
bool has_unread(const Checkpoint& checkpoint) {
  return std::any_of(checkpoint.findings.begin(), checkpoint.findings.end(), [](const Finding& finding) {
    return finding.severity == Severity::error && finding.code == "file-not-read";
  });
}

/// Whether a folder without a checkpoint is as it was a while ago: nothing is being saved into it.
bool is_long_hollow(const std::string& path, const Error& error) {
  constexpr std::time_t a_while = 2;
  struct stat folder {};
  if (error.status != Status::not_found || ::stat(path.c_str(), &folder) != 0 || !S_ISDIR(folder.st_mode)) return false;
  return folder.st_mtim.tv_sec + a_while < std::time(nullptr);
}

class Attempts {
 public:
  Attempts(const std::string& path, const ScopeOf& scope_of) : path_(path), scope_of_(scope_of) {}

  void begin() { began_ = Clock::now(); }
  [[nodiscard]] bool is_last() const { return number_ == most_attempts; }

  /// May a failure be looked at again?
  [[nodiscard]] bool is_worth_another() {
    if (is_last()) return false;
    if (is_in_progress(find_pending(scope_of_(path_)))) return true;
    return ++failures_ < most_failures && Clock::now() - began_ < soon;
  }

  void wait() {
    std::this_thread::sleep_for(pause_);
    pause_ *= 2;
    ++number_;
  }

 private:
  const std::string& path_;
  const ScopeOf& scope_of_;
  int number_ = 1;
  int failures_ = 0;
  std::chrono::milliseconds pause_ = first_pause;
  Clock::time_point began_;
};

SettledCheckpoint with_foreign_records(SettledCheckpoint read, const Scope& scope) {
  auto strangers = foreign_records(scope);
  if (strangers) read.checkpoint.findings.push_back(*std::move(strangers));
  return read;
}

}  // namespace

SettledCheckpoint open_settled(const std::string& path, const OpenOptions& options, const ScopeOf& scope_of) {
  for (Attempts attempts(path, scope_of);; attempts.wait()) {
    attempts.begin();
    try {
      SettledCheckpoint read{open_checkpoint(path, options), std::nullopt};
      // In this order: a transaction that begins after the first look came after all reading, and one that ended before
      // it left its mark on files that were read before.
      const Scope scope = scope_of(read.checkpoint.resolved);
      read.pending = find_pending(scope);
      const bool is_running = is_in_progress(read.pending);
      const bool is_still = !is_running && are_as_read(read.checkpoint.files);
      if (is_still && (!has_unread(read.checkpoint) || !attempts.is_worth_another())) {
        return with_foreign_records(std::move(read), scope);
      }
      if (is_running && attempts.is_last()) return with_foreign_records(std::move(read), scope);
    } catch (const Error& error) {
      if (is_long_hollow(path, error) || !attempts.is_worth_another()) throw;
    }
    if (attempts.is_last()) {
      throw Error(Status::busy, path + ": is written again each time that it is read", "try again once it is saved");
    }
  }
}

void require_finished(const std::string& path, const std::optional<Pending>& pending) {
  const bool is_running = is_in_progress(pending);
  const bool is_interrupted = pending && pending->state == PendingState::interrupted && pending->is_own;
  if (!is_running && !is_interrupted) return;
  throw Error(Status::busy, path + ": an edit of " + pending->when + " is not finished",
              is_running ? "wait for it" : "an undo rolls it back");
}

Checkpoint open_finished(const std::string& path, const OpenOptions& options, const ScopeOf& scope_of) {
  SettledCheckpoint read = open_settled(path, options, scope_of);
  require_finished(path, read.pending);
  return std::move(read.checkpoint);
}

}  // namespace tare
