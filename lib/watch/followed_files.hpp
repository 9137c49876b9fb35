// The logs, tables and event files of a run, read as they grow: each byte once, through rotation, truncation and
// restarts.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/trace/run_reader.hpp"
#include "lib/watch/growing_file.hpp"
#include "lib/watch/told_copies.hpp"

namespace tare {

struct FollowedChange {
  enum class What : std::uint8_t {
    found,      ///< it tells of the run
    rotated,    ///< it has another name now, and is read on under that
    truncated,  ///< it was emptied, or begun anew: read from its front
    gone,       ///< it was taken away
    unread,     ///< it is of the run, perhaps, and cannot be followed
  };
  What what;
  std::string path;
  std::string more = {};  ///< found: what it is; rotated: its name now; unread: why, escaped
};

class FollowedFiles {
 public:
  /// `own`: files that the watcher itself writes, which are none of the run. `is_stopped`: asked between pieces of long
  /// files. `options` is borrowed.
  FollowedFiles(std::vector<std::string> paths, const TraceOptions& options, std::vector<std::string> own,
                std::function<bool()> is_stopped);

  /// Reads what was added. `walks`: looks for new files, too.
  std::vector<FollowedChange> look(bool walks);
  /// Whether anything was read by the last look.
  [[nodiscard]] bool has_read() const { return has_read_; }
  /// A file was begun that cannot be told yet: the next look should walk.
  [[nodiscard]] bool waits() const { return !unripe_.empty(); }
  [[nodiscard]] std::vector<Trace> traces() const;

 private:
  using Inode = std::pair<dev_t, ino_t>;
  using Clock = std::chrono::steady_clock;
  struct Fingerprint {
    std::uint64_t size = 0, hash = 0;
  };
  struct Followed {
    RunFile file;
    std::string group;
    Inode inode;
    std::shared_ptr<GrowingFile> source = {};  ///< null: opened when it is looked at
    WholePart read = {};                       ///< so far, from the front
    WholePart read_before = {};                ///< of what stood there before it was truncated
    Fingerprint front = {}, front_before = {};
    std::shared_ptr<ToldCopies> told = {};  ///< null: it tells what no other does
    std::string header = {};                ///< of a table: its first line
    std::uint64_t size = 0;                 ///< when it was looked at last
    bool is_packed = false;                 ///< read once, as a whole
    bool has_moved = false;                 ///< its path leads elsewhere, or nowhere
    Clock::time_point moved = {};
  };

  /// A file that tells nothing, as it was when it was looked at.
  struct Other {
    off_t size = 0;
    timespec changed = {};
  };

  void walk();
  void take(const std::vector<RunPath>& paths);
  [[nodiscard]] std::unique_ptr<Followed> looked_at(const std::string& path, const struct stat& there);
  [[nodiscard]] const Followed* copied_from(const Followed& file) const;
  [[nodiscard]] bool is_known_other(const struct stat& there) const;
  bool is_packed_copy(const Followed& file);
  void join_copies(Followed& file);
  static void leave_copies(Followed& file);
  void begin(std::unique_ptr<Followed> file);
  void follow(Followed& file);
  void read_on(Followed& file);
  void read_group_anew(const Followed& table);
  void read_rest(Followed& file);
  void read_piece(Followed& file, const WholePart& part);
  void read_packed(const Followed& file);
  static bool is_begun_anew(Followed& file);
  void tell(FollowedChange::What what, const std::string& path, std::string more = {});

  std::vector<std::string> paths_;
  const TraceOptions& options_;
  std::set<std::string> own_;
  std::function<bool()> is_stopped_;
  std::vector<std::unique_ptr<Followed>> files_;
  std::map<Inode, Other> others_;
  std::set<std::pair<Inode, std::uint64_t>> packed_;  ///< which were read, and the hashes of their fronts
  std::set<std::string> unripe_, unread_;
  std::map<std::string, RunReader> readers_;
  std::vector<FollowedChange> changes_;
  bool has_read_ = false;
  bool has_begun_ = false;
};

}  // namespace tare
