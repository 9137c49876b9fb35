#include "lib/remote/remote_limits.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"

namespace tare {

std::chrono::milliseconds RemoteBudget::take(const std::string& name) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now());
  if (left.count() <= 0) {
    throw Error(Status::io, fmt::format("{}: {} s are spent on this server", name, limits_.time.count()),
                "--max-seconds gives it more, or download the checkpoint");
  }
  if (taken_.fetch_add(1) >= limits_.requests) {
    throw Error(Status::io, fmt::format("{}: {} requests are spent on this checkpoint", name, limits_.requests),
                "--max-requests allows more, or download the checkpoint");
  }
  return left;
}

}  // namespace tare
