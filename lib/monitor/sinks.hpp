// Which sinks there are, and what a configuration says of one.
#pragma once

#include <string>
#include <vector>

#include "lib/monitor/event_file.hpp"
#include "lib/monitor/sink.hpp"

namespace tare::monitor {

enum class SinkKind { jsonl, tensorboard, openmetrics };

struct SinkConfig {
  SinkKind kind = SinkKind::jsonl;
  std::string path;
  const EventTags* tags = nullptr;  ///< of tensorboard; null: Megatron's
};

Sinks make_sinks(const std::vector<SinkConfig>& wanted);

}  // namespace tare::monitor
