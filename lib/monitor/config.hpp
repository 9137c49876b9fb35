// How a monitor is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/monitor/examiner.hpp"
#include "lib/monitor/sinks.hpp"

namespace tare::monitor {

/// Which tensors of a group are looked at, and when.
struct GroupConfig {
  std::string name;
  std::int64_t every = 0;             ///< of so many steps one, the first among them; 0: never
  std::vector<std::string> patterns;  ///< of names; none: all
};

struct Config {
  std::int64_t every = 10;  ///< of so many steps one is looked at, the first one among them
  std::vector<GroupConfig> groups;
  std::vector<SinkConfig> sinks;
  Format format = Format::f16;
  WarnLimits limits;
};

/// {"every":10,"groups":{"weights":{"every":100}},"sinks":[{"jsonl":"a.jsonl"}],"format":"f16",
/// "warn":{"underflow":0.05}}; null and empty text: the defaults. Throws `invalid_argument` and names what is allowed.
Config parse_config(const char* json);

}  // namespace tare::monitor
