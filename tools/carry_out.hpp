// What all verbs that change checkpoints have in common: plan, show, ask, write, tell.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "lib/edit/request.hpp"
#include "lib/edit/transaction.hpp"
#include "tools/terminal.hpp"

struct ChangeOptions {
  std::string path;
  tare::EditRequest request;
  tare::TransactionOptions transaction;
  bool dry_run = false;
  bool yes = false;
  bool json = false;
  bool no_history = false;
};

/// The flags that go with every change.
void add_change_options(CLI::App& verb, ChangeOptions& options);

/// Plans `options.request` and carries it out, or shows what it would write. Returns the exit code.
int carry_out(const Terminal& terminal, ChangeOptions& options);
