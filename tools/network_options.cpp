#include "tools/network_options.hpp"

#include <fmt/format.h>

namespace {

tare::RemoteLimits& given() {
  static tare::RemoteLimits limits;
  return limits;
}

}  // namespace

void add_network_options(CLI::App& verb) {
  constexpr const char* group = "Of URLs";
  const auto set_time = [](long seconds) { given().time = std::chrono::seconds(seconds); };
  verb.add_option("--max-requests", given().requests,
                  fmt::format("How many requests in all (default {})", given().requests))
      ->check(CLI::PositiveNumber)
      ->group(group);
  verb.add_option_function<long>("--max-seconds", set_time,
                                 fmt::format("How long in all (default {})", given().time.count()))
      ->check(CLI::Range(1, 1'000'000))
      ->group(group);
  verb.add_flag("--allow-private-redirect", given().private_redirects,
                "Follow a server that leads to this machine or its network, which the URL itself may always name")
      ->group(group);
}

const tare::RemoteLimits& network_limits() {
  return given();
}
