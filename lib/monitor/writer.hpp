// The thread that writes what a monitor saw, so that no step waits for a disk.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "lib/monitor/sink.hpp"

namespace tare::monitor {

class Writer {
 public:
  /// Without sinks there is no thread. Throws std::system_error if the system refuses one.
  explicit Writer(Sinks sinks);
  /// Writes what was handed over, and joins. In a forked child, where the thread does not exist, it only lets go of it.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Hands a step over; one that comes while as many as fit are waiting is counted and left out. Allocates nothing.
  void put(std::shared_ptr<const ObservedStep> step) noexcept;
  /// Waits until all that was handed over is written.
  void wait() const noexcept;

  /// How many sinks have failed, as far as it can be told without a wait: 0 while a step is being written.
  [[nodiscard]] std::size_t failures() const noexcept;
  /// REQUIRES, of what their failures are: wait() or failures() since the last put(), which did not give 0.
  [[nodiscard]] const Sinks& sinks() const { return sinks_; }
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  static constexpr std::uint32_t room = 64;

  [[nodiscard]] bool is_idle() const noexcept;
  void serve() noexcept;

  Sinks sinks_;
  const pid_t owner_;
  std::uint64_t left_out_ = 0;
  // Steps are numbered from 0; the n-th stands at n % room from when put_ is beyond n until done_ is.
  std::array<std::shared_ptr<const ObservedStep>, room> waiting_;
  std::atomic<std::uint32_t> put_{0};
  std::atomic<std::uint32_t> done_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace tare::monitor
