// A child process that is being started, and one that has ended.
#pragma once

#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>

namespace tare {

/// What becomes of the child's descriptors, as posix_spawn takes it.
class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  posix_spawn_file_actions_t* operator&() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// Waits for its end; the status as waitpid gives it.
inline int status_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace tare
