#include "lib/transaction/transaction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/transaction/each_file.hpp"
#include "lib/transaction/history.hpp"
#include "lib/transaction/resolved_paths.hpp"
#include "lib/transaction/run_journal.hpp"
#include "lib/transaction/target.hpp"

namespace tare {
namespace {

constexpr mode_t read_write_bits = 0666;

/// As far as the bits tell: whose group it is shows once the journal is there.
mode_t journal_mode(const std::vector<Target>& targets) {
  mode_t mode = read_write_bits;
  for (const Target& target : targets) mode &= target.edit->planned.mode;
  return mode | S_IRUSR | S_IWUSR;
}

Scope scope_of(FileLayer& files, const std::vector<Target>& targets, const TransactionOptions& options) {
  std::vector<std::string> paths;
  paths.reserve(targets.size());
  for (const Target& target : targets) paths.push_back(target.path);
  return {files, paths, options.upper, options.key};
}

void require_one_device(const Folder& home, const std::vector<Target>& targets) {
  const dev_t device = home.status().st_dev;
  for (const Target& target : targets) {
    if (device == target.edit->planned.device) continue;
    throw Error(
        Status::refused,
        fmt::format("{}: lies on another device than {}, which holds all files of this edit", target.path, home.path()),
        "edit the files of each device by themselves");
  }
}

OpenedFile open_as_planned(const Folder& home, const Target& target, const TransactionOptions& options) {
  const auto place = place_below(home, relative_to(home.path(), target.path));
  if (!place) throw Error(Status::refused, target.path + ": its folder was moved since it was read", "try again");
  OpenedFile opened = open_editable(*place, options.allow_hard_links);
  require_as_planned(opened, target.edit->planned);
  return opened;
}

void require_possible(const Folder& home, const std::vector<Target>& targets, const TransactionOptions& options) {
  require_one_device(home, targets);
  for_each_file(home.files(), targets.size(), [&](std::size_t i) {
    open_as_planned(home, targets[i], options);
  }).rethrow();
}

/// What can be refused without another look at the files; the right to write them is not known yet.
void require_as_seen(const Folder& home, const std::vector<Target>& targets, const TransactionOptions& options) {
  require_one_device(home, targets);
  for (const Target& target : targets) {
    require_editable(target.edit->planned, target.path, options.allow_hard_links);
  }
}

/// Nobody may read the journal who may not read all of the files.
std::vector<FileRecord> records_of(const Claim& held, const std::vector<Target>& targets, timespec now,
                                   const TransactionOptions& options) {
  const Folder& home = held.store().home();
  std::vector<FileRecord> records(targets.size());
  std::vector<mode_t> readers(targets.size());
  for_each_file(home.files(), targets.size(), [&](std::size_t i) {
    const auto [file, status] = open_as_planned(home, targets[i], options);
    records[i] = record_of(file, status, targets[i].edit->change, relative_to(home.path(), targets[i].path), now);
    readers[i] = held.readers_of(file, status);
  }).rethrow();
  held.restrict_to(std::accumulate(readers.begin(), readers.end(), mode_t{0777}, std::bit_and<>()));
  std::erase_if(records, changes_nothing);
  return records;
}

/// Names in the history are relative, so that a checkpoint that moves keeps it.
std::vector<FieldEdit> relative_fields(std::vector<FieldEdit> fields, const std::vector<FileEdit>& edits,
                                       const std::vector<Target>& targets, FileLayer& files,
                                       const std::string& folder) {
  ResolvedPaths resolved(files);
  std::unordered_map<std::string_view, std::string, KeyedHash> edited;
  for (const Target& target : targets) edited.emplace(target.edit->path, relative_to(folder, target.path));
  for (const FileEdit& edit : edits) {  // another name of a target
    if (!edited.contains(edit.path)) edited.emplace(edit.path, relative_to(folder, resolved.of(edit.path).path));
  }
  for (FieldEdit& field : fields) {
    const auto known = edited.find(field.file);
    if (known == edited.end()) throw Error(Status::invalid_argument, field.file + ": is described but not edited");
    field.file = known->second;
  }
  return fields;
}

/// What there is to say of a change that is made.
void add_findings(FileLayer& files, const std::vector<Target>& targets, Receipt& receipt) {
  std::vector<Finding>& findings = receipt.findings;
  for (const Target& target : targets) {
    const auto& path = target.edit->path;
    if (target.is_through_link) {
      findings.push_back({Severity::note,
                          "edited-through-link",
                          fmt::format("{} is a link to {}: that was edited", path, target.path),
                          path,
                          {}});
    }
    if (target.edit->change.splice && target.edit->change.patches.empty() && target.edit->planned.names > 1) {
      findings.push_back({Severity::warning,
                          "hard-link-parted",
                          fmt::format("{} was rewritten: its other names keep the old file", path),
                          path,
                          {}});
    }
  }
  auto stale = stale_checksums(files, receipt.files);
  std::move(stale.begin(), stale.end(), std::back_inserter(findings));
}

}  // namespace

Finding journal_unsealed(const std::string& folder) {
  return {
      Severity::warning,
      "journal-unsealed",
      "there is no folder to keep a key in, so that the record of this edit is not sealed: undo needs --trust-journal",
      folder,
      {}};
}

void require_possible(FileLayer& files, const std::vector<FileEdit>& edits, const TransactionOptions& options) {
  const auto targets = targets_of(files, edits, options);
  if (!targets.empty()) require_possible(Folder::at(files, common_folder(targets)), targets, options);
}

Receipt commit(FileLayer& files, const std::vector<FileEdit>& edits, std::vector<FieldEdit> fields,
               const TransactionOptions& options) {
  const auto targets = targets_of(files, edits, options);
  Receipt receipt;
  if (targets.empty()) return receipt;
  receipt.folder = common_folder(targets);
  const Folder home = Folder::at(files, receipt.folder);
  // Most refusals come here already, before anything is made.
  require_as_seen(home, targets, options);

  RecoverOptions recovery = options.recovery;
  recovery.allow_hard_links = options.allow_hard_links;
  const Claim held = claim(home, scope_of(files, targets, options), journal_mode(targets), recovery);
  Journal journal;
  try {
    journal.when = journal.edited = files.now();
    journal.number = held.store().next_number();
    journal.id = new_edit_id();
    journal.origin = options.origin;
    journal.fields = relative_fields(std::move(fields), edits, targets, files, receipt.folder);
    journal.files = records_of(held, targets, journal.when, options);
  } catch (...) {
    held.withdraw();
    throw;
  }
  if (journal.files.empty()) {
    held.withdraw();
    return receipt;
  }
  for (const FileRecord& file : journal.files) receipt.files.push_back(held.store().path(file));
  receipt.when = utc_text(journal.when);
  receipt.origin = journal.origin;
  std::optional<StoredRecord> record;
  if (options.keep_history) {
    receipt.number = journal.number;
    receipt.id = journal.id;
    record = StoredRecord{journal.number, RecordState::applied};
  }
  receipt.findings = run_journal(held, journal, record, options.on_copied);
  try {
    if (options.keep_history && !options.key.exists()) receipt.findings.push_back(journal_unsealed(receipt.folder));
    add_findings(files, targets, receipt);
  } catch (const std::exception&) {
    return receipt;  // the change is made, whatever else there would be to say of it
  }
  return receipt;
}

}  // namespace tare
