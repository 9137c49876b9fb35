// What happens to a run that is watched: a line of JSON for each change, and how it stands as metrics.
#pragma once

#include <string>
#include <string_view>

#include "lib/watch/watch.hpp"

namespace tare {

/// What every line begins with.
constexpr std::string_view watch_line_beginning = R"({"schema":"tare.watch/)";

/// Now, in UTC, as RFC 3339 has it.
std::string watch_time();

/// "tare.watch/1", with a newline. `time`: when it was seen, as RFC 3339 has it.
std::string watch_line(const WatchEvent& event, std::string_view time);

/// How the run stands: `what` is "begins", "ends", or "stands" where somebody asks between; `why` may be empty.
std::string watch_line(const RunStatus& status, std::string_view what, std::string_view why, std::string_view time);

/// OpenMetrics 1.0, which Prometheus' node exporter takes from a text file, too. `run`: the label's value, escaped
/// here. `changed_at`: seconds since 1970, of the last change that was seen.
std::string watch_metrics(const RunStatus& status, std::string_view run, double changed_at);

}  // namespace tare
