// JSON as tare takes and gives it. Taken: strict RFC 8259, no comments, no duplicate names, bounded in size and depth.
// Given: floats in the shortest text that reads back to the same double, nan and infinities as strings.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "lib/base/error.hpp"

namespace tare::json {

using Json = nlohmann::ordered_json;

/// Throws `status_of_bad_text` with `what` (a path, "the configuration") and the place in the message.
Json parse(std::string_view text, const std::string& what, Status status_of_bad_text);

/// Objects a line a member, arrays of plain values on one line, a newline at the end.
std::string text_of(const Json& json);

}  // namespace tare::json
