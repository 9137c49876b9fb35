#include "tools/network_options.hpp"

#include <fmt/format.h>

namespace {

tare::RemoteLimits& given() {
  static tare::RemoteLimits limits;
  return limits;
}

}  // namespace

OptionTable network_options() {
  constexpr const char* heading = "Of URLs";
  tare::RemoteLimits& limits = given();
  const auto set_requests = [&limits](std::int64_t count) {
    limits.requests = static_cast<std::size_t>(count);
    limits.requests_a_listed_object = 0;
  };
  const auto set_time = [&limits](std::int64_t seconds) { limits.time = std::chrono::seconds(seconds); };
  const auto set_at_once = [&limits](std::int64_t count) { limits.at_once = static_cast<std::size_t>(count); };
  return {
      {"--max-requests", Within{1, 1'000'000'000, set_requests},
       fmt::format("How many requests in all (default {}, and {} for each object that a store lists)", limits.requests,
                   limits.requests_a_listed_object),
       Presence::optional, heading},
      {"--max-seconds", Within{1, 1'000'000, set_time},
       fmt::format("How long in all (default {})", limits.time.count()), Presence::optional, heading},
      {"--connections", Within{1, 1024, set_at_once},
       fmt::format("How many requests at the same time (default {})", limits.at_once), Presence::optional, heading},
      {"--allow-private-redirect", &limits.private_redirects,
       "Follow a server that leads to this machine or its network, which the URL itself may always name",
       Presence::optional, heading},
  };
}

const tare::RemoteLimits& network_limits() {
  return given();
}
