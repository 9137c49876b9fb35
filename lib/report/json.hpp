// Pieces that every report is made of, as JSON values. Inside lib/report only: no other room sees nlohmann_json here.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "lib/base/finding.hpp"
#include "lib/edit/journal.hpp"
#include "lib/edit/recover.hpp"
#include "lib/tree/value.hpp"

namespace tare::report {

using Json = nlohmann::ordered_json;

/// Numbers as numbers; nan and infinities as "nan", "inf", "-inf"; integers beyond int64 as decimal strings; None as
/// null.
Json value(const Value& value);
/// A number without its container: 65536.0 of [65536.0].
Json number(const Value& value);

/// Sets `key` to text from a file. Text that is no UTF-8 comes escaped, with `<key>_bytes` (base64) beside it.
void set_text(Json& object, const std::string& key, const std::string& text);
/// Text for places where nothing can stand beside it.
std::string safe_text(const std::string& text);

Json finding(const Finding& finding);
Json field_edit(const FieldEdit& edit);
Json pending(const std::optional<Pending>& pending);

/// Two spaces deep, with a newline at the end.
std::string text_of(const Json& json);

}  // namespace tare::report
