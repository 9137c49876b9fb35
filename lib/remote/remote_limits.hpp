// What one command may ask of servers, all its requests together: a server can lead on for ever, or let wait.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>

namespace tare {

struct RemoteLimits {
  std::size_t requests = 5'000;
  std::size_t requests_a_listed_object = 2;  ///< more, for each that a store lists; 0 where the user said how many
  std::chrono::seconds time{600};
  std::size_t at_once = 64;        ///< requests that are under way at the same time
  bool private_redirects = false;  ///< may a redirect lead to an address inside (lib/remote/inside.hpp)?
};

/// What is left of that. May be used by several threads at once.
class RemoteBudget {
 public:
  explicit RemoteBudget(const RemoteLimits& limits)
      : limits_(limits), end_(Clock::now() + limits.time), allowed_(limits.requests) {}

  [[nodiscard]] const RemoteLimits& limits() const { return limits_; }
  /// Takes one request for the object of that name; how long it may take. Throws `io` where nothing is left.
  std::chrono::milliseconds take(const std::string& name);
  /// Of a list that came to its end: so many objects are there, each of which may be asked for.
  void allow_for(std::size_t listed_objects);

 private:
  using Clock = std::chrono::steady_clock;

  const RemoteLimits limits_;
  const Clock::time_point end_;
  std::atomic<std::size_t> allowed_;
  std::atomic<std::size_t> taken_{0};
};

}  // namespace tare
