// What all verbs that change checkpoints have in common: plan, show, ask, write, tell.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/edit/plan.hpp"
#include "lib/transaction/transaction.hpp"
#include "tools/option.hpp"
#include "tools/terminal.hpp"
#include "tools/waiting.hpp"

struct ChangeOptions {
  std::string path;
  tare::EditRequest request;
  tare::TransactionOptions transaction;
  bool dry_run = false;
  bool yes = false;
  bool json = false;
  bool json_lines = false;
  bool no_history = false;
  int wait_seconds = usual_wait_seconds;
  std::size_t jobs = 0;  ///< 0: as many as the storage takes
};

/// A change of a checkpoint, and what a verb says of it.
struct Change {
  std::function<tare::EditPlan(const tare::Checkpoint&)> plan;
  /// What people read before the fields; asked for once the plan is made. May be empty.
  std::function<std::string()> preface = {};
  /// The answer in JSON; without a receipt of what would be done.
  std::function<std::string(const tare::Checkpoint&, const tare::EditPlan&, const std::optional<tare::Receipt>&)> json;
  const char* done = "edited";
};

/// The flags that go with every change. `schema` is of its answer in JSON.
OptionTable change_options(ChangeOptions& options, const std::string& schema = "tare.edit/1");

/// How many of several paths are read at the same time.
Option jobs_option(ChangeOptions& options);

/// Says each, on stderr.
void tell_findings(const Terminal& terminal, const std::vector<tare::Finding>& findings);

/// Carries a change of `options.path` out, or shows what it would write. Returns the exit code.
int carry_out(const Terminal& terminal, ChangeOptions& options, const Change& change);

/// The same for the edit that `options.request` asks for.
int carry_out(const Terminal& terminal, ChangeOptions& options);

/// The edit that `options.request` asks for, of each path that is meant by one of `paths`, each a transaction of its
/// own: some are read and planned at the same time, then one after the other is asked about and made. Returns the
/// highest exit code.
int carry_out_each(const Terminal& terminal, ChangeOptions& options, const std::vector<std::string>& paths);
