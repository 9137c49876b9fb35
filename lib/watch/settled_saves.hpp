// Checkpoints of a run that is under way: each is read once it has been left alone for a while, and again when it
// changes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "lib/trace/checkpoints.hpp"

namespace tare {

class SettledSaves {
 public:
  /// `settle`: how long nothing in it may have changed. `files` is borrowed.
  SettledSaves(const Files& files, std::chrono::seconds settle) : files_(files), settle_(settle) {}

  /// As read_save; nothing as long as it is written.
  std::optional<Save> read(const std::string& path);
  /// Before what lies in the run is asked for anew.
  void begin() { waits_ = false; }
  /// Whether something has not settled yet.
  [[nodiscard]] bool waits() const { return waits_; }
  /// Counts what was read: checkpoints that are new, or have changed.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Known {
    std::uint64_t signature = 0;
    Clock::time_point since = {};
    bool is_read = false;
    std::optional<Save> save = {};
  };

  const Files& files_;
  std::chrono::seconds settle_;
  std::map<std::string, Known> known_;
  std::uint64_t version_ = 0;
  bool waits_ = false;
};

}  // namespace tare
