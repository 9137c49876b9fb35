#include "lib/remote/remote_limits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"

namespace tare {

std::chrono::milliseconds RemoteBudget::take(const std::string& name) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now());
  if (left.count() <= 0) {
    throw Error(Status::io, fmt::format("{}: {} s are spent on this server", name, limits_.time.count()),
                "--max-seconds gives it more, or download the checkpoint");
  }
  if (const std::size_t allowed = allowed_; taken_.fetch_add(1) >= allowed) {
    throw Error(Status::io, fmt::format("{}: {} requests are spent on this checkpoint", name, allowed),
                "--max-requests allows more, or download the checkpoint");
  }
  return left;
}

void RemoteBudget::allow_for(std::size_t listed_objects) {
  const std::size_t most = limits_.requests + limits_.requests_a_listed_object * limits::max_files;
  const std::size_t more = limits_.requests_a_listed_object * listed_objects;
  std::size_t allowed = allowed_;
  while (!allowed_.compare_exchange_weak(allowed, std::min(most, allowed + more))) continue;
}

}  // namespace tare
