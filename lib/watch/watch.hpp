// A run that is under way: what its logs and checkpoints tell is taken in as it is written, and what changes is told.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/health/doctor.hpp"
#include "lib/watch/followed_files.hpp"
#include "lib/watch/saved_course.hpp"
#include "lib/watch/settled_saves.hpp"

namespace tare {

/// What changed, in the order in which it is told.
struct WatchEvent {
  enum class What : std::uint8_t {
    found,       ///< a file that tells of the run: `path`, `text` what it is
    rotated,     ///< `path` is named `text` now
    truncated,   ///< `path` was begun anew
    gone,        ///< `path` was taken away
    warning,     ///< of reading: `text`
    scale,       ///< the scale moved, or steps overflowed: `step`, `from`, `to`, `overflows`, `moves`
    restart,     ///< the run went back to `step`
    checkpoint,  ///< one was written, and is whole: `saved`
    finding,     ///< something is wrong: `finding`
    over,        ///< it no longer is: `finding`
  };
  What what;
  std::string path = {};  ///< not escaped
  std::string text = {};  ///< escaped, but for names
  std::optional<std::int64_t> step = {};
  std::optional<double> from = {}, to = {};
  std::uint64_t overflows = 0;  ///< at least
  std::uint64_t moves = 1;      ///< that this one stands for
  std::optional<TraceCheckpoint> saved = {};
  std::optional<HealthFinding> finding = {};
};

std::string_view name(WatchEvent::What what);

/// How the run stands. What is counted never falls.
struct RunStatus {
  std::uint64_t steps = 0;      ///< that are told of, those that a restart overwrote, too
  std::uint64_t overflows = 0;  ///< of these, at least
  std::uint64_t restarts = 0;
  std::optional<std::int64_t> step = {};  ///< the last one that has a number
  std::optional<double> scale = {};       ///< that the last one left; as printed where that is less than 1
  std::size_t checkpoints = 0;
  std::optional<TraceCheckpoint> newest = {};  ///< checkpoint
  Diagnosis diagnosis = {};                    ///< what is wrong now; without a finding that it is healthy
};

struct WatchOptions {
  TraceOptions trace = {};
  Thresholds thresholds = {};
  /// Opens a checkpoint as open_checkpoint does.
  std::function<Checkpoint(const std::string& path)> open;
  std::vector<std::string> own_files = {};  ///< that the watcher writes: none of the run's
  std::chrono::seconds settle{5};           ///< how long a checkpoint must be left alone before it is read
  std::function<bool()> is_stopped = [] { return false; };
};

class Watch {
 public:
  Watch(std::vector<std::string> paths, WatchOptions options);

  /// Takes in what was written since the last look. `walks`: files may have come, gone or been renamed. Throws
  /// `not_found` the first time if nothing is at one of the paths, never later: the run may be moved, or be made anew.
  std::vector<WatchEvent> look(bool walks);
  [[nodiscard]] const RunStatus& status() const { return status_; }
  /// Something is half written, and is to be looked at again though nothing changes any more.
  [[nodiscard]] bool waits() const { return files_.waits() || saves_.waits(); }
  /// A checkpoint has not been left alone for long enough, and is not read yet.
  [[nodiscard]] bool settles() const { return saves_.waits(); }
  /// In which changes are to be expected.
  [[nodiscard]] std::vector<std::string> folders() const;

 private:
  void take_in(std::vector<WatchEvent>& events);
  void tell_steps(const Trace& trace, std::vector<WatchEvent>& events);
  void tell_checkpoints(const Trace& trace, std::vector<WatchEvent>& events);
  void tell_findings(const Trace& trace, std::vector<WatchEvent>& events);
  void tell_warnings(const Trace& trace, std::vector<WatchEvent>& events);
  [[nodiscard]] const std::vector<HealthFinding>& findings_of_newest();

  std::vector<std::string> paths_;
  WatchOptions options_;
  FollowedFiles files_;
  SettledSaves saves_;
  Trace saved_;
  RunStatus status_;
  std::uint64_t version_ = 0;  ///< of saves_
  bool has_looked_ = false;
  std::string teller_;  ///< the source whose steps are counted
  std::size_t told_steps_ = 0;
  SavedCourse saved_course_;
  std::uint32_t segment_ = 0;
  std::vector<std::string> told_warnings_;
  std::vector<TraceCheckpoint> told_checkpoints_;  ///< of each path the last one
  std::string examined_;                           ///< the newest checkpoint, and its version
  std::vector<HealthFinding> of_newest_;
};

}  // namespace tare
