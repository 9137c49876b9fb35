// A sink: a line of JSON for each step.
#pragma once

#include "lib/monitor/sink.hpp"

namespace tare::monitor {

class LineFile : public Sink {
 public:
  using Sink::Sink;
  [[nodiscard]] std::string_view kind() const override { return "jsonl"; }

 protected:
  void write(const ObservedStep& step) override;
};

}  // namespace tare::monitor
