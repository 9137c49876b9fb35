#include <fmt/format.h>

#include <memory>

#include "lib/base/error.hpp"
#include "lib/base/files.hpp"
#include "lib/base/text.hpp"
#include "lib/codec/new_file.hpp"
#include "lib/report/report.hpp"
#include "tools/open.hpp"
#include "tools/render.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

struct Options {
  std::string source;
  std::string at;
  std::string into, into_at;
  std::string framework, out;
  std::vector<std::string> given;
  IntoRequest request;
  TransactionOptions transaction;
  bool strict = false;
  bool dry_run = false;
  bool yes = false;
  bool json = false;
};

/// "true" is one here, and a number is a number; nothing else can be given.
StateValue given_value(const Assignment& assignment) {
  if (assignment.value == "true") return true;
  if (assignment.value == "false") return false;
  if (const auto number = parse_number(assignment.value)) return *number;
  throw Error(Status::invalid_argument, fmt::format("{}: '{}' is no value", assignment.key, assignment.value),
              "write a number (65536, 2^16, 0.5), or true or false");
}

std::optional<std::string> place(const CLI::Option* option, const std::string& text) {
  return option->count() > 0 ? std::optional(text) : std::nullopt;
}

void require_nothing_lost(const Options& options, const Conversion& conversion) {
  if (!options.strict) return;
  for (const ConvertedValue& value : conversion.values) {
    if (value.fate != Fate::lost) continue;
    throw Error(Status::refused, fmt::format("--strict: {} would be lost: {}", value.source_key, value.why),
                "without --strict it is left behind, and said so");
  }
}

int into_checkpoint(const Terminal& terminal, Options& options, const ScalerState& source) {
  const Checkpoint checkpoint = options.dry_run ? open_for_reading(terminal, options.into, {}).checkpoint
                                                : open_for_writing(terminal, options.into);
  const IntoPlan plan = plan_migration(source, checkpoint, options.request);
  require_nothing_lost(options, plan.migration.conversion);
  MigrationOutcome outcome{options.source, options.into, &checkpoint, &plan.edit, {}};
  const auto answer = [&] {
    terminal.answer(options.json ? migrate_json(plan.migration, outcome)
                                 : render_migration(terminal, plan.migration) + render_fields(terminal, plan.edit));
  };
  if (options.dry_run) {
    require_possible(system_files(), plan.edit.files, options.transaction);
    answer();
    return exit_done;
  }
  const std::string question = fmt::format("{}{}Edit {} file(s)?", render_migration(terminal, plan.migration),
                                           render_fields(terminal, plan.edit), plan.edit.files.size());
  if (!options.yes && !plan.edit.files.empty() && !terminal.confirm(question)) {
    throw Error(Status::refused, "not confirmed: nothing was written");
  }
  outcome.receipt = commit(system_files(), plan.edit.files, plan.edit.for_history, options.transaction);
  outcome.is_written = true;
  answer();
  terminal.say(fmt::format("migrated; `tare undo {}` takes it back", escaped(options.into)));
  return exit_done;
}

int new_file(const Terminal& terminal, const Options& options, const ScalerState& source) {
  if (options.out.empty()) throw Error(Status::invalid_argument, "--to needs -o FILE", "or --into CHECKPOINT");
  const NewFilePlan plan = plan_new_file(source, options.framework, options.out, options.request.given);
  require_nothing_lost(options, plan.migration.conversion);
  if (!options.dry_run) {
    const bool is_there = local_files().type(options.out) != FileType::absent;
    if (is_there && !options.yes && !terminal.confirm(fmt::format("Replace {}?", escaped(options.out)))) {
      throw Error(Status::refused, "not confirmed: nothing was written");
    }
    write_whole_file(options.out, plan.contents);
  }
  const MigrationOutcome outcome{options.source, options.out, nullptr, nullptr, {}, !options.dry_run};
  terminal.answer(options.json ? migrate_json(plan.migration, outcome) : render_migration(terminal, plan.migration));
  if (!options.dry_run) terminal.say(fmt::format("wrote {}", escaped(options.out)));
  return exit_done;
}

}  // namespace

void add_migrate(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("migrate", "Carry a scaler's state from one framework to another");
  verb->add_option("SOURCE", options->source, "A checkpoint, as for inspect, or a state that tare saved (.json, .h5)")
      ->required();
  const CLI::Option* at =
      verb->add_option("--at", options->at, "Which scaler of SOURCE, by the place that inspect prints");
  CLI::Option* to = verb->add_option("--to", options->framework,
                                     "The framework to write a new file for: torch, megatron, \"deepspeed fused\" ...");
  verb->add_option("-o,--output", options->out, "That file; .json and .h5 hold a state for tare itself");
  CLI::Option* into =
      verb->add_option("--into", options->into, "A checkpoint of any framework whose scaler takes the state over");
  to->excludes(into);
  const CLI::Option* into_at = verb->add_option("--into-at", options->into_at, "Which scaler of that checkpoint");
  verb->add_option("--set", options->given,
                   "KEY=VALUE for what SOURCE does not hold: a role or a native name, and a number or true, false");
  verb->add_flag("--strict", options->strict, "Refuse (exit 4) where anything is lost");
  verb->add_flag("--align", options->request.align, "Where the target's copies disagree: give all of them the state");
  verb->add_flag("--force", options->request.force, "Write values that the framework could not use");
  verb->add_flag("--dry-run", options->dry_run, "Show what would be written, and write nothing");
  verb->add_flag("-y,--yes", options->yes, "Do not ask");
  verb->add_flag("--json", options->json, "Answer in JSON (schema tare.migrate/1)");
  verb->footer(
      "Examples:\n"
      "  tare migrate scaler.pt --to megatron -o grad_scaler.pt\n"
      "  tare migrate scaler.pt --into run/global_step4200 --dry-run\n"
      "  tare migrate iter_0004200 --into checkpoint-4200 --set window=500\n"
      "Counters are set so that the next growth and the next back-off come at the same step as in SOURCE. Every value "
      "is\n"
      "accounted for: carried, converted (with the formula), assumed, defaulted, clamped or lost.");
  verb->callback([=, &run] {
    run = [=](const Terminal& terminal) {
      for (const std::string& text : options->given) {
        const Assignment assignment = parse_assignment(text);
        options->request.given.set(assignment.key, given_value(assignment));
      }
      options->request.at = place(into_at, options->into_at);
      if (to->count() + into->count() == 0) {
        throw Error(Status::invalid_argument, "nothing says where to", "--to FRAMEWORK -o FILE, or --into CHECKPOINT");
      }
      const ScalerState source = migration_source(options->source, place(at, options->at));
      return into->count() > 0 ? into_checkpoint(terminal, *options, source) : new_file(terminal, *options, source);
    };
  });
}
