// Waits until something in some folders changes: the kernel tells, or, where it cannot be trusted to, time passes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

/// What the file systems are called that statfs(2) tells by that number, where other machines may write without this
/// one's kernel knowing; empty for those that are this machine's own.
std::string_view name_of_shared(std::uint32_t magic);

/// How long to rest behind a look that took so long, `least` at least: of the time a small part goes into looking.
constexpr std::chrono::milliseconds rest_behind(std::chrono::milliseconds look, std::chrono::milliseconds least) {
  constexpr int rest_for_each_look = 19;
  return std::max(least, rest_for_each_look * look);
}

class Changes {
 public:
  /// `stop`: a descriptor that can be read from when the waiting shall end; borrowed. `polls`: the kernel is not asked.
  Changes(bool polls, int stop);
  ~Changes();
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  /// From now on these folders, and no others. A folder on a network file system, of which the kernel tells only what
  /// this machine does, or one folder too many, and all are polled from then on.
  void follow(const std::vector<std::string>& folders);
  [[nodiscard]] bool polls() const { return inotify_ < 0; }
  /// Why; empty where it was asked for, or does not.
  [[nodiscard]] const std::string& why_polls() const { return why_; }

  struct Seen {
    bool is_stopped = false;
    bool is_changed = false;  ///< a file's contents, or more
    bool is_moved = false;    ///< files came, went, were renamed, or were closed by who wrote them
  };
  /// Returns at the first change, and at the latest after `most`.
  Seen wait(std::chrono::milliseconds most);
  /// Lets that time pass, whatever changes; true: the waiting shall end.
  [[nodiscard]] bool rest(std::chrono::milliseconds time) const;

 private:
  void poll_from_now_on(std::string why);

  int inotify_ = -1;
  int stop_;
  std::string why_;
  std::vector<std::string> folders_;
};

}  // namespace tare
