// Waiting for others who edit the same checkpoint.
#pragma once

#include <chrono>
#include <thread>

#include "lib/base/error.hpp"

namespace tare {

/// Calls `attempt` again while it throws `busy` and time is left. REQUIRES: where it throws, it has done nothing.
template <class Attempt>
auto patiently(double wait_seconds, const Attempt& attempt) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds pause(20);
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
