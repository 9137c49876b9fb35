#include "lib/transaction/transaction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/base/error.hpp"
#include "lib/transaction/carry_out.hpp"
#include "lib/transaction/target.hpp"

namespace tare {
namespace {

constexpr mode_t read_write_bits = 0666;

/// The journal holds bytes of the files, so nobody may read it who may not read all of them.
mode_t journal_mode(const std::vector<Target>& targets) {
  mode_t mode = read_write_bits;
  for (const Target& target : targets) mode &= target.edit->planned.st_mode;
  return mode | S_IRUSR | S_IWUSR;
}

Scope scope_of(FileLayer& files, const std::vector<Target>& targets, const std::string& upper) {
  std::vector<std::string> paths;
  paths.reserve(targets.size());
  for (const Target& target : targets) paths.push_back(target.path);
  return {files, paths, upper};
}

void require_one_device(FileLayer& files, const std::vector<Target>& targets, const std::string& folder) {
  const auto home = status_of(files, folder);
  for (const Target& target : targets) {
    if (home && home->st_dev == target.edit->planned.st_dev) continue;
    throw Error(
        Status::refused,
        fmt::format("{}: lies on another device than {}, which holds all files of this edit", target.path, folder),
        "edit the files of each device by themselves");
  }
}

void require_possible(FileLayer& files, const std::vector<Target>& targets, const TransactionOptions& options) {
  require_one_device(files, targets, common_folder(targets));
  for (const Target& target : targets) {
    require_as_planned(open_editable(files, target.path, options.allow_hard_links), target.edit->planned);
  }
}

std::vector<FileRecord> records_of(FileLayer& files, const std::vector<Target>& targets, const std::string& folder,
                                   timespec now, const TransactionOptions& options) {
  std::vector<FileRecord> records;
  for (const Target& target : targets) {
    const OpenFile file = open_editable(files, target.path, options.allow_hard_links);
    require_as_planned(file, target.edit->planned);
    FileRecord record = record_of(file, target.edit->change, relative_to(folder, target.path), now);
    if (!changes_nothing(record)) records.push_back(std::move(record));
  }
  return records;
}

/// Names in the history are relative, so that a checkpoint that moves keeps it.
std::vector<FieldEdit> relative_fields(std::vector<FieldEdit> fields, const std::vector<FileEdit>& edits,
                                       FileLayer& files, const std::string& folder) {
  std::set<std::string_view> edited;
  for (const FileEdit& edit : edits) edited.insert(edit.path);
  for (FieldEdit& field : fields) {
    if (!edited.contains(field.file))
      throw Error(Status::invalid_argument, field.file + ": is described but not edited");
    field.file = relative_to(folder, resolved_path(files, field.file));
  }
  return fields;
}

std::vector<Finding> findings_of(FileLayer& files, const std::vector<Target>& targets, const Receipt& receipt) {
  std::vector<Finding> findings;
  for (const Target& target : targets) {
    const auto& path = target.edit->path;
    if (target.is_through_link) {
      findings.push_back({Severity::note,
                          "edited-through-link",
                          fmt::format("{} is a link to {}: that was edited", path, target.path),
                          path,
                          {}});
    }
    if (target.edit->change.splice && target.edit->change.patches.empty() && target.edit->planned.st_nlink > 1) {
      findings.push_back({Severity::warning,
                          "hard-link-parted",
                          fmt::format("{} was rewritten: its other names keep the old file", path),
                          path,
                          {}});
    }
  }
  auto stale = stale_checksums(files, receipt.files);
  std::move(stale.begin(), stale.end(), std::back_inserter(findings));
  return findings;
}

}  // namespace

void require_possible(FileLayer& files, const std::vector<FileEdit>& edits, const TransactionOptions& options) {
  const auto targets = targets_of(files, edits, options);
  if (!targets.empty()) require_possible(files, targets, options);
}

Receipt commit(FileLayer& files, const std::vector<FileEdit>& edits, const std::vector<FieldEdit>& fields,
               const TransactionOptions& options) {
  const auto targets = targets_of(files, edits, options);
  Receipt receipt;
  if (targets.empty()) return receipt;
  receipt.folder = common_folder(targets);
  // Most refusals come here already, before anything is made.
  require_possible(files, targets, options);

  const Claim held = claim(Store(files, receipt.folder), scope_of(files, targets, options.upper), journal_mode(targets),
                           options.recovery);
  Journal journal;
  try {
    journal.when = journal.edited = files.now();
    journal.number = held.store().next_number();
    journal.files = records_of(files, targets, receipt.folder, journal.when, options);
    journal.fields = relative_fields(fields, edits, files, receipt.folder);
  } catch (...) {
    held.withdraw();
    throw;
  }
  if (journal.files.empty()) {
    held.withdraw();
    return receipt;
  }
  if (!options.keep_history) {
    carry_out(held, journal, std::nullopt);
  } else {
    receipt.number = journal.number;
    carry_out(held, journal, StoredRecord{journal.number, RecordState::applied});
  }
  for (const FileRecord& record : journal.files) receipt.files.push_back(held.store().target(record));
  receipt.findings = findings_of(files, targets, receipt);
  return receipt;
}

}  // namespace tare
