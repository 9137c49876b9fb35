// The JSON of every answer: the same text for the command's --json and for the C ABI. README.md lists schemas and
// codes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/attest/attest.hpp"
#include "lib/checkpoint/checkpoint.hpp"
#include "lib/checkpoint/difference.hpp"
#include "lib/codec/json_text.hpp"
#include "lib/edit/plan.hpp"
#include "lib/migrate/migrate.hpp"
#include "lib/transaction/history.hpp"
#include "lib/transaction/recover.hpp"
#include "lib/transaction/transaction.hpp"
#include "lib/transaction/undo.hpp"

namespace tare {

/// What an inspect answer holds beside the usual.
struct InspectParts {
  bool globals = false;    ///< what the pickles name; REQUIRES a checkpoint that was opened with list_globals
  bool histories = false;  ///< every number of long fields, however many there are in all
};

/// "tare.inspect/1", written scaler by scaler.
void write_inspect_json(const Checkpoint& checkpoint, const std::optional<Pending>& pending, InspectParts parts,
                        const json::TextSink& sink);

/// "tare.edit/1": the plan, and where it was carried out the receipt.
std::string edit_json(const Checkpoint& checkpoint, const EditPlan& plan, const std::optional<Receipt>& receipt);

/// "tare.conversion/1": what became of every value of a state that changed its policy.
/// "tare.findings/1".
std::string findings_json(const std::vector<Finding>& findings);

std::string conversion_json(const Conversion& conversion);

/// Where a migration went.
struct MigrationOutcome {
  std::string source;
  std::string target;                      ///< the file or checkpoint
  const Checkpoint* checkpoint = nullptr;  ///< null for a new file
  const EditPlan* edit = nullptr;          ///< of that checkpoint
  std::optional<Receipt> receipt;          ///< once it is carried out
  bool is_written = false;
};

/// "tare.migrate/1"
std::string migrate_json(const Migration& migration, const MigrationOutcome& outcome);

/// "tare.undo/1"
std::string undo_json(const std::string& target, const UndoResult& result);

/// Calls with each edit that is on record, oldest first.
using TellHistory = std::function<void(const std::function<void(const HistoryEntry&)>& take)>;
/// "tare.history/1", written edit by edit.
void write_history_json(const std::string& target, const std::optional<Pending>& pending, const TellHistory& tell,
                        const json::TextSink& sink);
/// The same of the scope.
void write_history_json(const std::string& target, const Scope& scope, const json::TextSink& sink);

/// "tare.diff/1". `unfinished`, here and below: edits whose bytes may not be those that rule.
std::string diff_json(const Checkpoint& a, const Checkpoint& b, const std::vector<Difference>& differences,
                      const std::vector<Pending>& unfinished);

/// "tare.attest/1"
std::string attest_json(const Checkpoint& checkpoint, const Attestation& attestation,
                        const std::vector<Pending>& unfinished);

/// The answer is "no": copies disagree, or a file of the set cannot be read.
bool is_negative(const Checkpoint& checkpoint);

}  // namespace tare
