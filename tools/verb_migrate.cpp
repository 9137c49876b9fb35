#include <fmt/format.h>

#include <memory>

#include "lib/base/error.hpp"
#include "lib/base/exact_integer.hpp"
#include "lib/base/text.hpp"
#include "lib/codec/json_line.hpp"
#include "lib/codec/new_file.hpp"
#include "lib/migrate/strict.hpp"
#include "lib/report/report.hpp"
#include "lib/transaction/history.hpp"
#include "tools/carry_out.hpp"
#include "tools/journals.hpp"
#include "tools/network.hpp"
#include "tools/open.hpp"
#include "tools/output_file.hpp"
#include "tools/render.hpp"
#include "tools/tell_made.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

constexpr const char* migrate_closing_words =
    "Examples:\n"
    "  tare migrate scaler.pt --to megatron -o grad_scaler.pt\n"
    "  tare migrate scaler.pt --into run/global_step4200 --dry-run\n"
    "  tare migrate grad_scaler.pt --into checkpoint-4200 --set window=500\n"
    "  tare migrate epoch=9.ckpt --rename lightning:2.2\n"
    "  tare migrate model.pt --to flax_fp8 -o fp8.json       FP8 state: the scales and histories of its layers\n"
    "  tare migrate model.pt --into state.msgpack --module layers.0=_overwrite_with_gradient.Fp8DotGeneralOp_0\n"
    "--into also fills a place where the run saved no scaler ({}, None, Lightning's missing key), or a broken one.\n"
    "Counters are set so that the next growth and the next back-off come at the same step as in SOURCE. Every value\n"
    "is accounted for: carried, converted (with the formula), assumed, defaulted, clamped or lost.\n"
    "Lightning looks for a scaler under the name of a class that its releases call otherwise, and starts afresh\n"
    "where it finds none: --rename changes that key in SOURCE itself, which `tare undo` takes back.";

struct MigrateVerbOptions {
  std::string source;
  std::optional<std::string> at;
  std::optional<std::string> framework, into, release;
  std::string out;
  std::vector<std::string> given, modules;
  bool fp8 = false;
  IntoRequest request;
  ChangeOptions change;  ///< of the checkpoint that is changed
  bool strict = false;
};

/// "true" is one here, and a number is a number; nothing else can be given.
StateValue given_value(const Assignment& assignment) {
  const auto& text = std::get<std::string>(assignment.value);
  if (text == "true") return true;
  if (text == "false") return false;
  if (const auto integer = exact_int64(text)) return *integer;
  if (const auto number = parse_number(text)) return *number;
  throw Error(Status::invalid_argument, fmt::format("{}: '{}' is no value", assignment.key, text),
              "write a number (65536, 2^16, 0.5), or true or false");
}

/// What others left beside the source; where it is the user's own, the source is not to be had.
void tell_journals(const Terminal& terminal, const std::string& source) {
  if (is_url(source)) return tell_unfinished(terminal, unfinished_in_store(source));
  const Scope scope = scope_for_reading(source);
  if (const auto pending = find_pending(scope)) terminal.say(render_pending(*pending));
  if (const auto strangers = foreign_records(scope)) terminal.say(render_finding(terminal, *strangers));
}

int into_checkpoint(const Terminal& terminal, MigrateVerbOptions& options, const ScalerState& source) {
  options.change.path = *options.into;
  Migration migration;
  Change change;
  change.plan = [&](const Checkpoint& checkpoint) {
    IntoPlan plan = plan_migration(source, checkpoint, options.request);
    if (options.strict) require_lossless(plan.migration.conversion);
    migration = std::move(plan.migration);
    return std::move(plan.edit);
  };
  change.preface = [&] { return render_migration(terminal, migration); };
  change.json = [&](const Checkpoint& checkpoint, const EditPlan& plan, const std::optional<Receipt>& receipt) {
    return migrate_json(migration, {options.source, options.change.path, &checkpoint, &plan, receipt, bool(receipt)});
  };
  change.done = "migrated";
  return carry_out(terminal, options.change, change);
}

/// In the checkpoint itself.
int rename(const Terminal& terminal, MigrateVerbOptions& options) {
  options.change.path = options.source;
  const auto plan = [&](const Checkpoint& checkpoint) { return plan_rename(checkpoint, *options.release, options.at); };
  return carry_out(terminal, options.change, {plan, {}, edit_json, "renamed"});
}

int new_file(const Terminal& terminal, const MigrateVerbOptions& options, const ScalerState& source) {
  if (options.out.empty()) throw Error(Status::invalid_argument, "--to needs -o FILE", "or --into CHECKPOINT");
  const NewFilePlan plan = plan_new_file(source, *options.framework, options.out, options.request.given);
  if (options.strict) require_lossless(plan.migration.conversion);
  if (!options.change.dry_run) {
    require_replaceable(terminal, options.out, options.request.force);
    write_whole_file(options.out, plan.contents);
  }
  const MigrationOutcome outcome{options.source, options.out, nullptr, nullptr, {}, !options.change.dry_run};
  const auto answer = [&]() -> std::string {
    if (options.change.json_lines) return JsonLine().of(migrate_json(plan.migration, outcome));
    return options.change.json ? migrate_json(plan.migration, outcome) : render_migration(terminal, plan.migration);
  };
  if (options.change.dry_run) {
    terminal.answer(answer());
    return exit_done;
  }
  const int code = tell_made(terminal, answer);
  terminal.note(fmt::format("wrote {}", escaped(options.out)));
  return code;
}

int migrate(const Terminal& terminal, MigrateVerbOptions& options) {
  if (options.release) return rename(terminal, options);
  for (const std::string& text : options.given) {
    const Assignment assignment = parse_assignment(text);
    options.request.given.set(assignment.key, given_value(assignment));
  }
  for (const std::string& text : options.modules) options.request.modules.push_back(parse_module_name(text));
  if (!options.framework && !options.into) {
    throw Error(Status::invalid_argument, "nothing says where to",
                "--to FRAMEWORK -o FILE, --into CHECKPOINT, or --rename TRAINER:VERSION");
  }
  for (const std::string& path : {options.source, options.into.value_or("")}) reach(path);
  reach_output(options.out);
  tell_journals(terminal, options.source);
  const LoadedState source =
      migration_source(options.source, {options.at, options.framework, options.fp8}, open_finished_at);
  tell_findings(terminal, source.findings);
  return options.into ? into_checkpoint(terminal, options, source.state) : new_file(terminal, options, source.state);
}

}  // namespace

Verb migrate_verb() {
  auto options = std::make_shared<MigrateVerbOptions>();
  return {
      .name = "migrate",
      .purpose = "Carry a scaler's state from one framework to another",
      .options = joined(
          {{{"SOURCE", &options->source, "A checkpoint, as for inspect, or a state that tare saved (.json, .h5)",
             Presence::required},
            {"--at", &options->at,
             "Which scaler of SOURCE, by the place that inspect prints; of FP8 state: which layers"},
            {"--to", &options->framework,
             "The framework to write a new file for: torch, megatron, \"deepspeed fused\"; of FP8 state the policy of"
             " slots: transformer_engine, flax_fp8 ..."},
            {"-o,--output", &options->out, "That file; .json and .h5 hold a state for tare itself"},
            {"--into", &options->into, "A checkpoint of any framework whose scaler takes the state over"},
            {"--rename", &options->release, "TRAINER:VERSION whose key the scaler of SOURCE gets: lightning:2.2"},
            {"--into-at", &options->request.at, "Which scaler of that checkpoint; of FP8 state: which layers"},
            {"--fp8", &options->fp8, "Into a checkpoint: FP8 state, where SOURCE holds a loss scaler, too"},
            {"--module", &options->modules,
             "FROM=TO: parts of modules' paths, as SOURCE and as the checkpoint has them, for FP8 state"},
            {"--set", &options->given,
             "KEY=VALUE for what SOURCE does not hold: a role or a native name, and a number or true, false"},
            {"--strict", &options->strict, "Refuse (exit 4) where anything is lost, or the two rules part"},
            {"--align", &options->request.align, "Where the target's copies disagree: give all of them the state"},
            {"--force", &options->request.force,
             "Write values that the framework could not use, and replace the file of -o"}},
           change_options(options->change, "tare.migrate/1; of --rename tare.edit/1")}),
      .exclusive = {"--to", "--into", "--rename"},
      .beside = {{"--output", "--to"},
                 {"--into-at", "--into"},
                 {"--fp8", "--into"},
                 {"--module", "--into"},
                 {"--align", "--into"}},
      .closing_words = migrate_closing_words,
      .run = [options](const Terminal& t) { return migrate(t, *options); },
  };
}
