#include <fmt/format.h>

#include <memory>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/report/report.hpp"
#include "tools/open.hpp"
#include "tools/render.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

struct Options {
  std::string path;
  std::vector<std::string> assignments;
  std::string at;
  EditRequest request;
  TransactionOptions transaction;
  bool dry_run = false;
  bool yes = false;
  bool json = false;
  bool no_history = false;
};

int show_plan(const Terminal& terminal, const Options& options) {
  const auto [checkpoint, pending] = open_for_reading(terminal, options.path, {});
  if (pending) terminal.say(render_pending(*pending));
  const EditPlan plan = plan_edit(checkpoint, options.request);
  require_possible(system_files(), plan.files, options.transaction);
  terminal.answer(options.json ? edit_json(checkpoint, plan, std::nullopt)
                               : render_fields(terminal, plan) + render_bytes(terminal, plan));
  return exit_done;
}

void show_receipt(const Terminal& terminal, const Options& options, const Checkpoint& checkpoint, const EditPlan& plan,
                  const Receipt& receipt) {
  if (options.json) {
    terminal.answer(edit_json(checkpoint, plan, receipt));
    return;
  }
  terminal.answer(render_fields(terminal, plan));
  for (const Finding& finding : receipt.findings) terminal.say(render_finding(terminal, finding));
  if (receipt.files.empty()) {
    terminal.say("nothing had to be written");
  } else if (options.transaction.keep_history) {
    terminal.say(fmt::format("edited; `tare undo {}` takes it back", escaped(options.path)));
  } else {
    terminal.say("edited; no history is kept, so it cannot be undone");
  }
}

int edit(const Terminal& terminal, Options& options, bool has_place) {
  for (const std::string& text : options.assignments) options.request.set.push_back(parse_assignment(text));
  if (has_place) options.request.at = options.at;
  options.transaction.keep_history = !options.no_history;
  options.request.announce = [&terminal](const std::string& sentence) { terminal.say(sentence); };
  if (options.dry_run) return show_plan(terminal, options);
  const Checkpoint checkpoint = open_for_writing(terminal, options.path);
  const EditPlan plan = plan_edit(checkpoint, options.request);
  const std::string question = fmt::format("{}Edit {} file(s)?", render_fields(terminal, plan), plan.files.size());
  if (!options.yes && !plan.files.empty() && !terminal.confirm(question)) {
    throw Error(Status::refused, "not confirmed: nothing was written");
  }
  const Receipt receipt = commit(system_files(), plan.files, plan.for_history, options.transaction);
  show_receipt(terminal, options, checkpoint, plan, receipt);
  return exit_done;
}

}  // namespace

void add_edit(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      app.add_subcommand("edit", "Change scaler state in place, in every file that holds a copy, or in none");
  verb->add_option("PATH", options->path, "As for inspect")->required();
  verb->add_option("KEY=VALUE", options->assignments,
                   "A role or native name, and a number: 65536, 2^16, 0x1p16; or true, false");
  const CLI::Option* at = verb->add_option("--at", options->at, "Which scaler, by the place that inspect prints");
  verb->add_flag("--all", options->request.all, "Every scaler, where there are several");
  verb->add_flag("--align", options->request.align,
                 "Where copies disagree: give all of them the state that most have, then the values given");
  verb->add_flag("--dry-run", options->dry_run, "Show what would be written, byte by byte, and write nothing");
  verb->add_flag("--force", options->request.force, "Write values that the framework could not use");
  verb->add_flag("-y,--yes", options->yes, "Do not ask");
  verb->add_flag("--no-history", options->no_history, "Keep no record: the edit cannot be undone");
  verb->add_flag("--hard-links", options->transaction.allow_hard_links, "Edit files that have other names too");
  verb->add_flag("--content-addressed", options->transaction.allow_content_addressed,
                 "Edit files that are named by their own hash, as in a model hub's cache");
  verb->add_flag("--json", options->json, "Answer in JSON (schema tare.edit/1)");
  verb->footer(
      "Examples:\n"
      "  tare edit run/global_step4200 scale=65536 --dry-run\n"
      "  tare edit run/global_step4200 scale=2^16 growth_tracker=0\n"
      "  tare edit gan.pt scale=1024 --at scaler_G\n"
      "  tare edit checkpoint.pt window=500 --yes\n"
      "  tare edit run/global_step4200 --align\n"
      "An edit changes the bytes of its fields and their checksums. `tare undo` restores every byte.");
  verb->callback(
      [options, at, &run] { run = [options, at](const Terminal& t) { return edit(t, *options, at->count() > 0); }; });
}
