// Pieces that every report is made of, as JSON values. They are lib/codec's, which never allocate to be destroyed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/finding.hpp"
#include "lib/checkpoint/checkpoint.hpp"
#include "lib/codec/finding_json.hpp"
#include "lib/codec/json_text.hpp"
#include "lib/edit/plan.hpp"
#include "lib/transaction/journal.hpp"
#include "lib/transaction/recover.hpp"
#include "lib/tree/value.hpp"

namespace tare::report {

using json::add_text;
using json::Array;
using json::Json;
using json::Members;
using json::safe_text;
using json::text_of;
using json::write_text;

/// Numbers as numbers; nan and infinities as "nan", "inf", "-inf"; integers beyond int64 as decimal strings; None as
/// null.
Json value(const Value& value);
/// A number without its container: 65536.0 of [65536.0].
Json number(const Value& whole);
/// A size or an offset in a file.
Json size(std::uint64_t bytes);

Json finding(const Finding& finding);
Json field_edit(const FieldEdit& edit);
Json pending(const std::optional<Pending>& pending);
/// Of an answer about several checkpoints: those of all.
Json pending(const std::vector<Pending>& unfinished);
/// "user", "host", "command": texts that anybody may have written.
void add_origin(Members& members, const Origin& origin);
/// The whole of "tare.edit/1".
Json edit(const Checkpoint& checkpoint, const EditPlan& plan, const std::optional<Receipt>& receipt);

/// One value for each item, by `make`.
template <class Items, class Make>
Json list_of(const Items& items, const Make& make) {
  Array list;
  list.reserve(items.size());
  for (const auto& item : items) list.push_back(make(item));
  return list;
}

}  // namespace tare::report
