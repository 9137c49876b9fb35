// Answers as text for people. Whatever came from a file is escaped here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/report/report.hpp"
#include "lib/trace/trace.hpp"
#include "tools/terminal.hpp"

/// The value alone, exact: "65536.0", "true", "[1.0, 2.0]", "None".
std::string value_text(const tare::Value& value);
/// "2^16" for a power of two; else empty.
std::string power_text(const tare::Value& value);

/// The first of some files' names, and how many more there are.
std::string render_names(const std::vector<std::string>& names);
/// A checkpoint, or a folder, and which of the files below it: "run/step100: a.pt, b.pt". A file alone is just that.
std::string render_files(const std::string& where, const std::vector<std::string>& paths);

/// With a pattern every FP8 tensor of the layers that match it.
std::string render_checkpoint(const Terminal& terminal, const tare::Checkpoint& checkpoint,
                              const std::string& layers = {});
std::string render_globals(const Terminal& terminal, const tare::Checkpoint& checkpoint);
std::string render_attestation(const Terminal& terminal, const tare::Checkpoint& checkpoint,
                               const tare::Attestation& attestation);
std::string render_finding(const Terminal& terminal, const tare::Finding& finding);
/// What an edit does to fields; with the bytes of each file where `with_bytes`.
std::string render_fields(const Terminal& terminal, const tare::EditPlan& plan);
/// What an edit in a store would ask of it, and how much it would send; nothing of files.
std::string render_requests(const std::vector<tare::PlannedRequest>& requests);
std::string render_bytes(const Terminal& terminal, const tare::EditPlan& plan);
/// What becomes of each value, what has to be configured, and where the two rules part.
std::string render_migration(const Terminal& terminal, const tare::Migration& migration);
std::string render_history_entry(const Terminal& terminal, const tare::HistoryEntry& entry);
std::string render_differences(const Terminal& terminal, const std::vector<tare::Difference>& differences);
/// What an interrupted or running transaction means for whoever reads on.
std::string render_pending(const tare::Pending& pending);
/// What was read, and the steps at which something happened to the scale.
std::string render_trace(const Terminal& terminal, const tare::Trace& trace);
