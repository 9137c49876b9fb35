#include "lib/objects/planned_objects.hpp"

#include <fmt/format.h>

#include <ctime>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/parallel.hpp"
#include "lib/objects/object_changes.hpp"
#include "lib/transaction/target.hpp"

namespace tare {
namespace {

ObjectSeen seen_as_planned(ObjectLayer& objects, const FileEdit& edit) {
  auto seen = objects.look(edit.path);
  if (!seen || seen->tag != edit.version) {
    throw Error(Status::refused, edit.path + ": changed since it was read for this edit",
                "something else writes it: try again when it is done");
  }
  require_nothing_lost(edit.path, *seen);
  return *std::move(seen);
}

void require_made_of_what_is_there(const ObjectHome& home, const FileRecord& record) {
  if (home.objects().whole_objects() == nullptr || !is_composed(record)) return;
  if (grows_alone(record) || shrinks_alone(record)) return;
  throw Error(Status::refused,
              fmt::format("{}: this store copies no part of an object into another, and what changes stands in the "
                          "middle: all of its {} bytes would have to be sent",
                          home.path(record), record.size_after),
              "--send-whole sends them, and reads as many");
}

FileRecord record_of(const ObjectHome& home, const FileEdit& edit, const ObjectSeen& seen) {
  FileRecord record =
      record_of(readable(home.objects(), edit.path, seen), edit.change, relative_to(home.folder(), edit.path));
  set_versions(record, versions_before(seen));
  require_sane(record, edit.path);
  return record;
}

}  // namespace

ObjectVersions versions_before(const ObjectSeen& seen) {
  ObjectVersions versions;
  versions.tag_before = seen.tag;
  versions.kept_before = seen.kept;
  return versions;
}

void require_nothing_lost(const std::string& path, const ObjectSeen& seen) {
  if (!seen.lock.empty()) {
    throw Error(Status::refused, fmt::format("{}: has {}, which its new version would not have", path, seen.lock),
                "whoever set it may edit a copy, and set it again");
  }
  if (seen.labels == 0) return;
  throw Error(Status::refused,
              fmt::format("{}: has {} tag{}, which its new version would not have", path, seen.labels,
                          seen.labels == 1 ? "" : "s"),
              "download and edit it, upload it, and give it its tags again");
}

std::vector<Finding> unseen_losses(const ObjectHome& home, const std::vector<FileRecord>& records) {
  const std::string path = home.path(records.front());
  const auto labels = home.objects().unseen_labels(path);
  if (!labels) {
    return {{Severity::warning,
             "labels-unseen",
             "you may not see whether objects have tags (s3:GetObjectTagging), which new versions do not have",
             path,
             {}}};
  }
  ObjectSeen seen;
  seen.labels = *labels;
  require_nothing_lost(path, seen);
  return {};
}

std::string common_folder(const std::vector<FileEdit>& edits) {
  std::string folder = folder_of(edits.front().path);
  for (const FileEdit& edit : edits) {
    while (!edit.path.starts_with(joined(folder, ""))) folder = folder_of(folder);
  }
  return folder;
}

PlannedObjects planned_objects(const ObjectHome& home, const std::vector<FileEdit>& edits,
                               const TransactionOptions& options) {
  std::vector<FileRecord> records(edits.size());
  std::vector<ObjectSeen> seen(edits.size());
  const auto look = [&](std::size_t i) {
    seen[i] = seen_as_planned(home.objects(), edits[i]);
    records[i] = record_of(home, edits[i], seen[i]);
    if (!options.send_whole) require_made_of_what_is_there(home, records[i]);
  };
  for_each_parallel(edits.size(), look, {}, home.objects().most_at_once());
  PlannedObjects planned;
  for (std::size_t i = 0; i < edits.size(); ++i) {
    if (changes_nothing(records[i])) continue;
    planned.records.push_back(std::move(records[i]));
    planned.seen.push_back(std::move(seen[i]));
  }
  return planned;
}

Journal journal_of(const ObjectHome& home, const std::vector<FileRecord>& records, const std::vector<FieldEdit>& fields,
                   const TransactionOptions& options) {
  Journal journal;
  ::clock_gettime(CLOCK_REALTIME, &journal.when);
  journal.edited = journal.when;
  const auto present = home.records();
  journal.number = present.empty() ? 1 : present.back().number + 1;
  journal.id = new_edit_id();
  journal.origin = options.origin;
  journal.files = records;
  journal.fields = fields;
  for (FieldEdit& field : journal.fields) field.file = relative_to(home.folder(), field.file);
  return journal;
}

}  // namespace tare
