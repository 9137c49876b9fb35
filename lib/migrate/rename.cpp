#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/base/error.hpp"
#include "lib/dialect/release_keys.hpp"
#include "lib/migrate/migrate.hpp"

namespace tare {
namespace {

struct Release {
  std::string trainer;
  std::string version;
};

std::string known_trainers() {
  std::set<std::string_view> names;
  for (const ReleaseKey& row : release_keys()) names.insert(row.trainer);
  return fmt::format("{}", fmt::join(names, ", "));
}

Release parse_release(const std::string& text) {
  const std::size_t colon = text.find(':');
  Release release{text.substr(0, colon), colon == text.npos ? std::string() : text.substr(colon + 1)};
  if (release.trainer == "transformer_engine") {
    throw Error(Status::invalid_argument, "TransformerEngine's releases keep FP8 state under their modules' paths",
                "rename parts of those: tare fp8 rename CHECKPOINT --from PARTS --to PARTS");
  }
  const auto rows = release_keys();
  const bool is_known =
      std::any_of(rows.begin(), rows.end(), [&](const ReleaseKey& row) { return row.trainer == release.trainer; });
  if (!is_known || colon == text.npos) {
    throw Error(Status::invalid_argument, fmt::format("--rename {}: names no release of a trainer", text),
                fmt::format("write TRAINER:VERSION, as in lightning:2.2; known: {}", known_trainers()));
  }
  return release;
}

/// The scalers of that trainer that `at` (nothing: all) means, and where they stand.
std::vector<const ReleaseKey*> rows_of(const Checkpoint& checkpoint, const Release& release,
                                       const std::optional<std::string>& at) {
  std::vector<const ReleaseKey*> rows;
  for (const Scaler& scaler : checkpoint.scalers) {
    const ReleaseKey* row = release_key_of(scaler.state());
    if (row == nullptr || row->trainer != release.trainer || (at && *at != scaler.state().path)) continue;
    if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
  }
  return rows;
}

}  // namespace

EditPlan plan_rename(const Checkpoint& checkpoint, const std::string& release_text,
                     const std::optional<std::string>& at) {
  const Release release = parse_release(release_text);
  const auto rows = rows_of(checkpoint, release, at);
  if (rows.empty()) {
    throw Error(Status::not_found,
                fmt::format("{}: no scaler stands under a key of {}'s", checkpoint.resolved, release.trainer),
                "tare inspect shows what is there");
  }
  if (rows.size() > 1) {
    throw Error(Status::refused,
                fmt::format("{}: holds scalers of several releases: {} and {}", checkpoint.resolved, rows[0]->key,
                            rows[1]->key),
                "choose one with --at");
  }
  EditRequest request;
  request.at = at;
  request.all = !at;
  request.action = RenameRoot{std::string(key_in_release(*rows.front(), release.version).key)};
  return plan_edit(checkpoint, request);
}

}  // namespace tare
