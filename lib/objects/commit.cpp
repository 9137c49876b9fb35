#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <set>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/parallel.hpp"
#include "lib/objects/finish.hpp"
#include "lib/objects/new_version.hpp"
#include "lib/objects/object_changes.hpp"
#include "lib/objects/object_transaction.hpp"
#include "lib/objects/planned_objects.hpp"

namespace tare {
namespace {

std::string size_of_parts(const std::vector<ObjectPart>& parts) {
  return fmt::format("{} parts", parts.size());
}

/// As many requests as an object has parts, and those around them.
void add_composed_of_parts(std::vector<PlannedRequest>& requests, const std::string& path, const FileRecord& record,
                           const ComposeRequests& methods) {
  if (*methods.begin != '\0') requests.push_back({methods.begin, path, "begins a new version", 0, 0});
  const auto parts = NewVersion(record).parts();
  for (const ObjectPart& part : parts) {
    if (part.copied_from) {
      requests.push_back(
          {"PUT", path, fmt::format("bytes from {} on are copied in the store", part.span.offset), 0, part.span.size});
    } else {
      requests.push_back({"PUT", path, fmt::format("bytes from {} on are sent", part.span.offset), part.span.size, 0});
    }
  }
  requests.push_back(
      {methods.end, path,
       fmt::format("makes it whole of {}, if it is still {}", size_of_parts(parts), versions_of(record).tag_before), 0,
       0});
}

/// Pieces have names of their own, which go again. Where there are too many for one object, some are joined before:
/// that is told as one request.
void add_composed_of_wholes(std::vector<PlannedRequest>& requests, const std::string& path, const FileRecord& record,
                            const ObjectSeen& seen, WholeObjects& wholes) {
  std::vector<PlannedRequest> removals;
  const std::string pieces = joined(joined(folder_of(path), store_name), "a piece");
  if (grows_alone(record)) {
    const std::string copy = wholes.place_of_copy(path, seen);
    if (!copy.empty()) requests.push_back({"PUT", copy, "a copy, for undo", 0, record.size_before});
  }
  std::uint64_t copied = 0;
  const auto parts = NewVersion(record).whole_and_pieces();
  for (const ObjectPart& part : parts) {
    if (part.copied_from) {
      copied = part.span.size;
      continue;
    }
    requests.push_back({"PUT", pieces, fmt::format("bytes from {} on are sent", part.span.offset), part.span.size, 0});
    removals.push_back({"DELETE", pieces, "it is in the object", 0, 0});
  }
  requests.push_back(
      {"PUT", path,
       fmt::format("makes it whole of {} objects, if it is still {}", parts.size(), versions_of(record).tag_before), 0,
       copied});
  requests.insert(requests.end(), removals.begin(), removals.end());
}

void add_composed(std::vector<PlannedRequest>& requests, const std::string& path, const FileRecord& record,
                  const ObjectSeen& seen, ObjectLayer& objects) {
  WholeObjects* const wholes = objects.whole_objects();
  if (wholes != nullptr) return add_composed_of_wholes(requests, path, record, seen, *wholes);
  add_composed_of_parts(requests, path, record, objects.compose_requests());
}

Receipt receipt_of(const ObjectHome& home, const Journal& journal, const TransactionOptions& options) {
  Receipt receipt;
  receipt.folder = home.folder();
  for (const FileRecord& file : journal.files) receipt.files.push_back(home.path(file));
  receipt.when = utc_text(journal.when);
  receipt.origin = journal.origin;
  if (!options.keep_history) return receipt;
  receipt.number = journal.number;
  receipt.id = journal.id;
  if (!options.key.exists()) receipt.findings.push_back(journal_unsealed(home.folder()));
  return receipt;
}

}  // namespace

Receipt commit(ObjectLayer& objects, const std::vector<FileEdit>& edits, const std::vector<FieldEdit>& fields,
               const TransactionOptions& options) {
  if (edits.empty()) return {};
  const ObjectHome home(objects, common_folder(edits), options.key);
  PlannedObjects planned = planned_objects(home, edits, options);
  if (planned.records.empty()) {
    Receipt receipt;
    receipt.folder = home.folder();
    return receipt;
  }
  Journal journal = journal_of(home, planned.records, fields, options);
  std::optional<StoredRecord> record;
  if (options.keep_history) record = StoredRecord{journal.number, RecordState::applied};
  Receipt receipt = receipt_of(home, journal, options);
  for (Finding& finding : unseen_losses(home, journal.files)) receipt.findings.push_back(std::move(finding));
  run(home, std::move(journal), planned.seen, record);
  return receipt;
}

std::vector<PlannedRequest> planned_requests(ObjectLayer& objects, const std::vector<FileEdit>& edits,
                                             const std::vector<FieldEdit>& fields, const TransactionOptions& options) {
  std::vector<PlannedRequest> requests;
  if (edits.empty()) return requests;
  const ObjectHome home(objects, common_folder(edits), options.key);
  const PlannedObjects planned = planned_objects(home, edits, options);
  if (planned.records.empty()) return requests;
  const Journal journal = journal_of(home, planned.records, fields, options);
  const std::uint64_t journal_bytes = home.encoded(journal).size();
  requests.push_back({"PUT", home.pending(), "the journal, if there is none", journal_bytes, 0});
  requests.push_back({"PUT", home.pending(), "again, as the store must not allow it", journal_bytes, 0});
  for (std::size_t i = 0; i < journal.files.size(); ++i) {
    const FileRecord& file = journal.files[i];
    if (is_composed(file)) {
      add_composed(requests, home.path(file), file, planned.seen[i], objects);
    } else {
      requests.push_back({"PUT", home.path(file),
                          fmt::format("all of it, if it is still {}", versions_of(file).tag_before), file.size_after,
                          0});
    }
  }
  requests.push_back({"PUT", home.pending(), "again: nobody else took over", journal_bytes, 0});
  if (options.keep_history) {
    requests.push_back({"PUT", home.record({journal.number, RecordState::applied}), "the record", journal_bytes, 0});
  }
  requests.push_back({"DELETE", home.pending(), "the journal has become the record", 0, 0});
  return requests;
}

}  // namespace tare
