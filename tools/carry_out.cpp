#include "tools/carry_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/module.hpp"
#include "lib/base/text.hpp"
#include "lib/codec/json_line.hpp"
#include "lib/edit/change.hpp"
#include "lib/objects/object_transaction.hpp"
#include "lib/report/report.hpp"
#include "tools/changed_once.hpp"
#include "tools/exit_code.hpp"
#include "tools/journals.hpp"
#include "tools/network.hpp"
#include "tools/network_options.hpp"
#include "tools/open.hpp"
#include "tools/outcome.hpp"
#include "tools/records.hpp"
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

bool is_json(const ChangeOptions& options) {
  return options.json || options.json_lines;
}

/// A change that was planned while others were, until its turn comes.
struct Prepared {
  ObjectLayer* objects = nullptr;
  PlannedChange planned;
  std::optional<Pending> pending;    ///< of a dry run
  timespec began = {};               ///< before anything was read
  std::exception_ptr needs_another;  ///< another program, which can plan it
};

/// The change of one path. Borrows all but that.
class Making {
 public:
  Making(const Terminal& terminal, const ChangeOptions& options, const Change& change, std::string path)
      : terminal_(terminal), options_(options), change_(change), path_(std::move(path)) {}

  Prepared prepare() {
    Prepared prepared;
    prepared.began = system_files().now();
    prepared.objects = objects_to_change(path_);
    try {
      if (options_.dry_run) {
        plan_only(prepared);
      } else {
        prepared.planned =
            while_others_edit(path_, options_.wait_seconds, [&] { return plan_change(wanted(prepared.objects)); });
      }
    } catch (const NoLoader&) {
      prepared.needs_another = std::current_exception();
    }
    return prepared;
  }

  int finish(Prepared prepared) {
    try {
      if (prepared.needs_another) std::rethrow_exception(prepared.needs_another);
      return options_.dry_run ? show_plan(prepared) : make(std::move(prepared));
    } catch (const NoLoader&) {
      reach_output(path_);  // where tare-remote begins anew: nothing was written yet
      throw;
    }
  }

 private:
  [[nodiscard]] std::string json(const Checkpoint& checkpoint, const EditPlan& plan,
                                 const std::optional<Receipt>& receipt) const {
    const std::string document = change_.json(checkpoint, plan, receipt);
    return options_.json_lines ? JsonLine().of(document) : document;
  }

  void plan_only(Prepared& prepared) {
    Opened opened = open_for_reading(terminal_, path_, {});
    if (opened.pending) require_told_state(*opened.pending);
    EditPlan plan = change_.plan(opened.checkpoint);
    if (prepared.objects == nullptr) {
      require_possible(system_files(), plan.files, options_.transaction);
    } else {
      plan.requests = planned_requests(*prepared.objects, plan.files, plan.for_history, options_.transaction);
    }
    prepared.planned = {std::move(opened.checkpoint), std::move(plan)};
    prepared.pending = std::move(opened.pending);
  }

  /// An edit rolls back what was interrupted, and changes what is there then: that can be shown once it is there.
  void require_told_state(const Pending& pending) const {
    if (pending.state != PendingState::interrupted || !pending.is_own) return;
    terminal_.say(render_pending(pending));
    throw Error(Status::refused,
                fmt::format("{}: an {} of it was interrupted: what a change would do is known once that is rolled back",
                            path_, name(pending.kind)),
                pending.foreign.empty() ? fmt::format("first `tare undo {}`", shell_path(path_)) : "");
  }

  int show_plan(const Prepared& prepared) {
    const auto& [checkpoint, plan] = prepared.planned;
    if (prepared.pending) terminal_.say(render_pending(*prepared.pending));
    tell_foreign_records(terminal_, checkpoint);
    tell_findings(terminal_, plan.findings);
    terminal_.answer(is_json(options_) ? json(checkpoint, plan, std::nullopt)
                                       : changes_of(terminal_, checkpoint, change_, plan) +
                                             render_bytes(terminal_, plan) + render_requests(plan.requests));
    return exit_done;
  }

  CheckpointChange wanted(ObjectLayer* objects) {
    return {
        .path = path_,
        .plan = change_.plan,
        .open = options_for_writing(terminal_, path_),
        .scope_of = scope_for_writing,
        .transaction = options_.transaction,
        .approve = [this](const Checkpoint& checkpoint, const EditPlan& plan) { approve(checkpoint, plan); },
        .before_rolling_back = options_.yes ? std::function<void(const Pending&)>() : ask_to_roll_back(),
        .on_rolled_back =
            [this](const Pending& pending) {
              terminal_.note(
                  fmt::format("rolled back an {} of {} that was interrupted", name(pending.kind), pending.when));
            },
        .objects = objects,
    };
  }

  [[nodiscard]] std::function<void(const Pending&)> ask_to_roll_back() const {
    return [this](const Pending& pending) {
      terminal_.say(render_pending(pending));
      if (pending.is_own && pending.foreign.empty()) {
        terminal_.require_yes(fmt::format("Roll back that {} first?", name(pending.kind)), "--yes");
      }
    };
  }

  /// Asked again only where somebody else made it another change meanwhile.
  void approve(const Checkpoint& checkpoint, const EditPlan& plan) {
    const std::string question =
        fmt::format("{}Edit {} file(s)?", changes_of(terminal_, checkpoint, change_, plan), plan.files.size());
    if (question == agreed_to_) return;
    tell_foreign_records(terminal_, checkpoint);
    tell_findings(terminal_, plan.findings);
    if (!options_.yes && !plan.files.empty()) terminal_.require_yes(question, "--yes");
    agreed_to_ = question;
  }

  int make(Prepared prepared) {
    const CheckpointChange change = wanted(prepared.objects);
    bool is_first = true;
    const MadeChange made = while_others_edit(path_, options_.wait_seconds, [&] {
      const bool is_planned = std::exchange(is_first, false);
      const timespec began = is_planned ? prepared.began : system_files().now();
      try {
        return is_planned ? make_planned(change, std::move(prepared.planned)) : make_change(change);
      } catch (const Error& error) {
        // Who waits for other editors plans anew on what they left; whoever is asked has said no.
        if (!options_.yes || error.status != Status::refused || !was_edited_since(path_, began)) throw;
        throw Error(Status::busy, error.what(), error.hint);
      }
    });
    return show_receipt(made);
  }

  /// As a shell takes it, with what it needs to take back the very change that was made.
  [[nodiscard]] std::string undo_command(const MadeChange& made) const {
    const auto has_names = [](const FileEdit& edit) { return edit.planned.names > 1; };
    const auto is_unsealed = [](const Finding& finding) { return finding.code == "journal-unsealed"; };
    return fmt::format("tare undo {}{}{}", shell_path(path_),
                       std::ranges::any_of(made.plan.files, has_names) ? " --hard-links" : "",
                       std::ranges::any_of(made.receipt.findings, is_unsealed) ? " --trust-journal" : "");
  }

  int tell(const Receipt& receipt, const std::function<std::string()>& answer) const {
    if (!receipt.files.empty()) return tell_made(terminal_, answer);
    terminal_.answer(answer());
    return exit_done;
  }

  int show_receipt(const MadeChange& made) {
    const Receipt& receipt = made.receipt;
    if (is_json(options_)) return tell(receipt, [&] { return json(made.checkpoint, made.plan, made.receipt); });
    const int code = tell(receipt, [&] { return changes_of(terminal_, made.checkpoint, change_, made.plan); });
    tell_findings(terminal_, receipt.findings);
    if (receipt.files.empty()) {
      terminal_.note("nothing had to be written");
    } else if (options_.transaction.keep_history) {
      terminal_.note(fmt::format("{}; `{}` takes it back", change_.done, undo_command(made)));
    } else {
      terminal_.note(fmt::format("{}; no history is kept, so it cannot be undone", change_.done));
    }
    return code;
  }

  const Terminal& terminal_;
  const ChangeOptions& options_;
  const Change& change_;
  std::string path_;
  std::string agreed_to_;
};

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
                     {"--json-lines", &options.json_lines, "The same, a document a line"},
                 },
                 network_options()});
}

Option jobs_option(ChangeOptions& options) {
  return {"--jobs", &options.jobs, "How many checkpoints are read at the same time (default: 2; of URLs 8)"};
}

namespace {

int carry_out_all(const Terminal& terminal, ChangeOptions& options, const std::vector<std::string>& paths,
                  std::size_t jobs, const Change& change) {
  TransactionOptions& transaction = options.transaction;
  transaction.keep_history = !options.no_history;
  transaction.origin = origin_of_command();
  if (options.dry_run) {
    transaction.key = key_for_reading();
  } else {
    transaction.recovery = announced(terminal, transaction.recovery);
    transaction.recovery.allow_hard_links = transaction.allow_hard_links;
    transaction.key = sealing_key();
    transaction.on_copied = shown_while_copying(terminal);
  }
  ChangedOnce changed;
  return outcome_of_each<Prepared>(
      terminal, paths, jobs, [&](const std::string& path) { return Making(terminal, options, change, path).prepare(); },
      [&](const std::string& path, Prepared prepared) {
        const ChangedPlaces places = paths.size() > 1 ? places_of(prepared.planned) : ChangedPlaces();
        if (const std::string* earlier = changed.earlier(path, places)) {
          terminal.note(fmt::format("{}: left out, {} leads to the same files", escaped(path), escaped(*earlier)));
          return static_cast<int>(exit_done);
        }
        const int code = Making(terminal, options, change, path).finish(std::move(prepared));
        changed.add(path, places);
        return code;
      });
}

/// Borrows both.
Change requested_change(const Terminal& terminal, ChangeOptions& options) {
  options.request.announce = [&terminal](const std::string& sentence) { terminal.note(sentence); };
  return {[&options](const Checkpoint& checkpoint) { return plan_edit(checkpoint, options.request); }, {}, edit_json};
}

}  // namespace

int carry_out(const Terminal& terminal, ChangeOptions& options, const Change& change) {
  return carry_out_all(terminal, options, {options.path}, 1, change);
}

int carry_out(const Terminal& terminal, ChangeOptions& options) {
  return carry_out(terminal, options, requested_change(terminal, options));
}

int carry_out_each(const Terminal& terminal, ChangeOptions& options, const std::vector<std::string>& paths) {
  const std::vector<std::string> meant = paths_to_change(paths);
  const std::size_t usual = meant.size() > 1 ? usual_jobs(files_of(meant.front())) : 1;
  return carry_out_all(terminal, options, meant, options.jobs > 0 ? options.jobs : usual,
                       requested_change(terminal, options));
}
