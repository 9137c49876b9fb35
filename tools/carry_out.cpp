#include "tools/carry_out.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"
#include "lib/base/module.hpp"
#include "lib/base/text.hpp"
#include "lib/edit/change.hpp"
#include "lib/objects/object_transaction.hpp"
#include "lib/report/report.hpp"
#include "tools/exit_code.hpp"
#include "tools/journals.hpp"
#include "tools/network.hpp"
#include "tools/network_options.hpp"
#include "tools/open.hpp"
#include "tools/render.hpp"
#include "tools/tell_copied.hpp"
#include "tools/tell_made.hpp"

using namespace tare;

namespace {

std::string preface_of(const Change& change) {
  return change.preface ? change.preface() : std::string();
}

/// Which checkpoint was chosen, and what changes in which of its files.
std::string changes_of(const Terminal& terminal, const Checkpoint& checkpoint, const Change& change,
                       const EditPlan& plan) {
  std::vector<std::string> paths;
  for (const FileEdit& edit : plan.files) paths.push_back(edit.path);
  const std::string files = terminal.styled(Style::strong, render_files(checkpoint.resolved, paths));
  return fmt::format("{}\n{}{}", files, preface_of(change), render_fields(terminal, plan));
}

int show_plan(const Terminal& terminal, const ChangeOptions& options, const Change& change, ObjectLayer* objects) {
  const auto [checkpoint, pending] = open_for_reading(terminal, options.path, {});
  if (pending) terminal.say(render_pending(*pending));
  tell_foreign_records(terminal, checkpoint);
  EditPlan plan = change.plan(checkpoint);
  if (objects == nullptr) {
    require_possible(system_files(), plan.files, options.transaction);
  } else {
    plan.requests = planned_requests(*objects, plan.files, plan.for_history, options.transaction);
  }
  tell_findings(terminal, plan.findings);
  terminal.answer(options.json ? change.json(checkpoint, plan, std::nullopt)
                               : changes_of(terminal, checkpoint, change, plan) + render_bytes(terminal, plan) +
                                     render_requests(plan.requests));
  return exit_done;
}

int show_receipt(const Terminal& terminal, const ChangeOptions& options, const Change& change,
                 const Checkpoint& checkpoint, const EditPlan& plan, const Receipt& receipt) {
  if (options.json) return tell_made(terminal, [&] { return change.json(checkpoint, plan, receipt); });
  const int code = tell_made(terminal, [&] { return changes_of(terminal, checkpoint, change, plan); });
  tell_findings(terminal, receipt.findings);
  if (receipt.files.empty()) {
    terminal.note("nothing had to be written");
  } else if (options.transaction.keep_history) {
    terminal.note(fmt::format("{}; `tare undo {}` takes it back", change.done, escaped(options.path)));
  } else {
    terminal.note(fmt::format("{}; no history is kept, so it cannot be undone", change.done));
  }
  return code;
}

int make(const Terminal& terminal, ChangeOptions& options, const Change& change, ObjectLayer* objects) {
  options.transaction.recovery = announced(terminal, options.transaction.recovery);
  options.transaction.recovery.allow_hard_links = options.transaction.allow_hard_links;
  options.transaction.key = sealing_key();
  options.transaction.origin = origin_of_command();
  options.transaction.on_copied = shown_while_copying(terminal);
  std::string agreed_to;
  // Asked again only where somebody else made it another change meanwhile.
  const auto approve = [&](const Checkpoint& checkpoint, const EditPlan& plan) {
    const std::string question =
        fmt::format("{}Edit {} file(s)?", changes_of(terminal, checkpoint, change, plan), plan.files.size());
    if (question == agreed_to) return;
    tell_findings(terminal, plan.findings);
    if (!options.yes && !plan.files.empty()) terminal.require_yes(question, "--yes");
    agreed_to = question;
  };
  const CheckpointChange wanted{
      .path = options.path,
      .plan =
          [&](const Checkpoint& checkpoint) {
            tell_foreign_records(terminal, checkpoint);
            return change.plan(checkpoint);
          },
      .open = options_for_writing(terminal, options.path),
      .scope_of = scope_for_writing,
      .transaction = options.transaction,
      .approve = approve,
      .on_rolled_back =
          [&](const Pending& pending) {
            terminal.note(fmt::format("rolled back an edit of {} that was interrupted", pending.when));
          },
      .objects = objects,
  };
  const MadeChange made = while_others_edit(options.path, options.wait_seconds, [&] { return make_change(wanted); });
  return show_receipt(terminal, options, change, made.checkpoint, made.plan, made.receipt);
}

}  // namespace

void tell_findings(const Terminal& terminal, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) terminal.say(render_finding(terminal, finding));
}

OptionTable change_options(ChangeOptions& options, const std::string& schema) {
  TransactionOptions& transaction = options.transaction;
  return joined({{
                     {"--dry-run", &options.dry_run, "Show what would be written, byte by byte, and write nothing"},
                     {"-y,--yes", &options.yes, "Do not ask"},
                     {"--no-history", &options.no_history, "Keep no record: the edit cannot be undone"},
                     {"--hard-links", &transaction.allow_hard_links, "Edit files that have other names too"},
                     {"--send-whole", &transaction.send_whole,
                      "Large objects in gs://, where what changes stands in their middle: read and send all of them"},
                     trust_option(transaction.recovery),
                     wait_option(options.wait_seconds),
                     {"--content-addressed", &transaction.allow_content_addressed,
                      "Edit files that are named by their own hash, as in a model hub's cache"},
                     {"--json", &options.json, fmt::format("Answer in JSON (schema {})", schema)},
                 },
                 network_options()});
}

int carry_out(const Terminal& terminal, ChangeOptions& options, const Change& change) {
  options.transaction.keep_history = !options.no_history;
  ObjectLayer* const objects = objects_to_change(options.path);
  try {
    return options.dry_run ? show_plan(terminal, options, change, objects) : make(terminal, options, change, objects);
  } catch (const NoLoader&) {
    reach_output(options.path);  // where tare-remote begins anew: nothing was written yet
    throw;
  }
}

int carry_out(const Terminal& terminal, ChangeOptions& options) {
  options.request.announce = [&terminal](const std::string& sentence) { terminal.note(sentence); };
  const auto plan = [&](const Checkpoint& checkpoint) { return plan_edit(checkpoint, options.request); };
  return carry_out(terminal, options, {plan, {}, edit_json});
}
