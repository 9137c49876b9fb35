// Lines of a log that whoever collects them has put into JSON objects, a line each.
#pragma once

#include <string>
#include <string_view>

namespace tare {

/// The log's own line, where `line` is a JSON object that holds one: Docker's {"log": "...", ...}, journald's MESSAGE,
/// Google's textPayload, and what Elastic, Loki, CloudWatch, Azure and Splunk export. Else the line. Characters beyond
/// ASCII that are written as \u become '?'. `kept` holds the text where it was unwrapped.
std::string_view unwrapped(std::string_view line, std::string& kept);

/// Whether JSON has such a key, at whatever depth: an export of a log as one document.
bool wraps_lines(std::string_view json);

}  // namespace tare
