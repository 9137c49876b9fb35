// What is wrong with a run, as JSON: the same from checkpoints and logs as from a run that is watched from inside.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/base/health_finding.hpp"
#include "lib/codec/json_text.hpp"

namespace tare::json {

/// Text for places where nothing can stand beside it: what is no UTF-8 comes escaped.
std::string safe_text(const std::string& text);
/// Adds text from a file. Text that is no UTF-8 comes escaped, with `<key>_bytes` (base64) beside it.
void add_text(Members& object, const std::string& key, const std::string& text);

/// A number, or null.
Json step_json(const std::optional<std::int64_t>& step);
Json health_finding(const HealthFinding& finding);

/// "tare.findings/1", which may have more behind these. `last_healthy`: an object, or null.
Members findings_members(const std::vector<std::string>& targets, std::span<const HealthFinding> findings,
                         Json last_healthy);

}  // namespace tare::json
