// A sink: the last step as OpenMetrics' text, for the textfile collector of Prometheus' node_exporter.
#pragma once

#include "lib/monitor/sink.hpp"

namespace tare::monitor {

/// A whole file at any time: written beside it and renamed. One that holds something else than metrics of tare's stays.
class MetricsFile : public Sink {
 public:
  using Sink::Sink;
  [[nodiscard]] std::string_view kind() const override { return "openmetrics"; }

 protected:
  void write(const ObservedStep& step) override;
};

}  // namespace tare::monitor
