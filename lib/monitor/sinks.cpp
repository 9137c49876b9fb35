#include "lib/monitor/sinks.hpp"

#include <memory>

#include "lib/monitor/line_file.hpp"
#include "lib/monitor/metrics_file.hpp"

namespace tare::monitor {
namespace {

std::unique_ptr<Sink> made(const SinkConfig& wanted) {
  switch (wanted.kind) {
    case SinkKind::tensorboard:
      return std::make_unique<EventFile>(wanted.path, *wanted.tags);
    case SinkKind::openmetrics:
      return std::make_unique<MetricsFile>(wanted.path);
    case SinkKind::jsonl:
      break;
  }
  return std::make_unique<LineFile>(wanted.path);
}

}  // namespace

Sinks make_sinks(const std::vector<SinkConfig>& wanted) {
  Sinks sinks;
  sinks.reserve(wanted.size());
  for (const SinkConfig& one : wanted) sinks.push_back(made(one));
  return sinks;
}

}  // namespace tare::monitor
