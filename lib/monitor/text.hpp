// What a monitor tells, as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "lib/monitor/monitor.hpp"

namespace tare::monitor {

/// "tare.monitor/1" of a step, on one line.
std::string line_of(const ObservedStep& step);

/// "tare.monitor/1": `steps` have ended.
std::string report_of(std::int64_t steps, const std::optional<ObservedStep>& last, std::span<const LineFile> sinks);

}  // namespace tare::monitor
