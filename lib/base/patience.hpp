// Waiting for others who edit the same checkpoint.
#pragma once

#include <chrono>
#include <thread>

#include "lib/base/error.hpp"

namespace tare {

/// Between two looks at a disk. A store across a network is looked at less often.
inline constexpr std::chrono::milliseconds usual_pause{20};

/// Calls `attempt` again while it throws `busy` and time is left. REQUIRES: where it throws, it has done nothing.
template <class Attempt>
auto patiently(double wait_seconds, const Attempt& attempt, std::chrono::milliseconds pause = usual_pause) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(wait_seconds);
  while (true) {
    try {
      return attempt();
    } catch (const Error& error) {
      if (error.status != Status::busy || Clock::now() >= end) throw;
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace tare
