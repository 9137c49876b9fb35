// What a monitor tells, as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/dtype.hpp"
#include "lib/monitor/writer.hpp"

namespace tare::monitor {

/// With what each line of a monitor begins.
constexpr std::string_view line_beginning = R"({"schema":"tare.monitor/)";

/// "tare.monitor/1" of a step, on one line.
std::string line_of(const ObservedStep& step);

/// "tare.monitor/1": `steps` have ended. `last` may be null. REQUIRES: the writer was waited for.
std::string report_of(std::int64_t steps, const ObservedStep* last, const Writer& writer);

/// "tare.at-scale/1": what the values of each tensor would become. `last` may be null. REQUIRES: as at_scale does.
std::string at_scale_text(const ObservedStep* last, double scale, Dtype format);

}  // namespace tare::monitor
