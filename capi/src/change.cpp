// The calls that change files: edit, the FP8 verbs, undo, history's prune, migrate and write.
#include <unistd.h>

#include <memory>
#include <optional>

#include "capi/src/guard.hpp"
#include "capi/src/handles.hpp"
#include "capi/src/options.hpp"
#include "lib/base/patience.hpp"
#include "lib/codec/new_file.hpp"
#include "lib/codec/state_file.hpp"
#include "lib/dialect/extra_state.hpp"
#include "lib/edit/change.hpp"
#include "lib/edit/checkpoint_scope.hpp"
#include "lib/migrate/strict.hpp"
#include "lib/report/report.hpp"
#include "lib/state/fp8_policy.hpp"

using namespace tare;
using namespace tare::capi;

namespace {

/// What would be changed in a checkpoint, and how that is told.
struct Change {
  std::function<EditPlan(const Checkpoint&)> plan;
  std::function<std::string(const Checkpoint&, const EditPlan&, const std::optional<Receipt>&)> json = edit_json;
};

/// The answer of a change that is made. A failure would say that it is not: where the answer cannot be made, `spare`
/// is one, which was made before.
template <class Render>
tare_text* told(std::unique_ptr<tare_text> spare, const Render& render) {
  try {
    return new_text(render());
  } catch (const std::exception&) {
    return spare.release();
  }
}

tare_text* shown(const std::string& path, const ChangeOptions& options, const Change& change) {
  const Checkpoint checkpoint = open_settled(path, {}, options.journals.scopes_for_reading()).checkpoint;
  const EditPlan plan = change.plan(checkpoint);
  require_possible(system_files(), plan.files, options.transaction);
  return new_text(change.json(checkpoint, plan, std::nullopt));
}

tare_text* carried_out(const std::string& path, ChangeOptions& options, const Change& change) {
  TransactionOptions& transaction = options.transaction;
  transaction.recovery = options.journals.recovery;
  transaction.recovery.allow_hard_links = transaction.allow_hard_links;
  transaction.key = made_journal_key(options.journals.state_folder);
  transaction.origin = this_origin("libtare");
  std::unique_ptr<tare_text> spare;
  const auto make_spare = [&](const Checkpoint& checkpoint, const EditPlan& plan) {
    spare.reset(new_text(change.json(checkpoint, plan, Receipt{})));
  };
  MadeChange made = make_change({.path = path,
                                 .plan = change.plan,
                                 .scope_of = options.journals.scopes_for_reading(),
                                 .transaction = transaction,
                                 .approve = make_spare});
  return told(std::move(spare), [&] {
    const std::vector<Finding>& trusted = options.journals.trusted;
    made.receipt.findings.insert(made.receipt.findings.begin(), trusted.begin(), trusted.end());
    return change.json(made.checkpoint, made.plan, made.receipt);
  });
}

tare_text* carry_out(const std::string& path, ChangeOptions& options, const Change& change) {
  options.journals.keep_announced();
  return patiently(options.wait_seconds,
                   [&] { return options.dry_run ? shown(path, options, change) : carried_out(path, options, change); });
}

void require_schema(const StateValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr || *text != "tare.edit/1")
    throw Error(Status::unsupported, "the edit's schema is not \"tare.edit/1\", the one that this tare knows");
}

/// What the FP8 verbs are told.
struct Fp8Options {
  std::string verb, from, to, release, state_path;
  std::int64_t history = 0;
  bool remove_keys = false;
  const ScalerState* state = nullptr;  ///< the caller's, before that of a file
  std::vector<Finding> findings = {};  ///< of the state file

  OptionPlaces places() {
    return {{"verb", &verb},   {"history_length", &history}, {"remove", &remove_keys}, {"from", &from}, {"to", &to},
            {"for", &release}, {"state", &state_path}};
  }
};

void need(bool has, const char* key) {
  if (!has) throw Error(Status::invalid_argument, std::string("the verb needs \"") + key + '"');
}

std::optional<TeRelease> release_of(const Fp8Options& options) {
  return options.release.empty() ? std::nullopt : std::optional(parse_te_release(options.release));
}

TeRelease needed_release(const Fp8Options& options) {
  need(!options.release.empty(), "for");
  return parse_te_release(options.release);
}

EditAction rename_action(Fp8Options& options) {
  need(!options.from.empty() && !options.to.empty(), "from\" and \"to");
  return RenameFp8{options.from, options.to};
}

EditAction resize_action(Fp8Options& options) {
  need(options.history > 0, "history_length");
  return ResizeFp8{options.history};
}

EditAction inject_action(Fp8Options& options) {
  if (options.state != nullptr) return InjectFp8{*options.state, release_of(options)};
  need(!options.state_path.empty(), "state");
  LoadedState loaded = read_fp8_state_file(options.state_path);
  options.findings = std::move(loaded.findings);
  return InjectFp8{std::move(loaded.state), release_of(options)};
}

/// What a verb asks for. Throws where that is not complete.
EditAction fp8_action(Fp8Options& options) {
  using Action = EditAction (*)(Fp8Options&);
  constexpr std::pair<const char*, Action> verbs[] = {
      {"strip",
       [](Fp8Options& o) -> EditAction {
         return StripFp8{release_of(o), o.remove_keys};
       }},
      {"reset", [](Fp8Options& o) -> EditAction { return ResetFp8{o.history}; }},
      {"recompute", [](Fp8Options&) -> EditAction { return RecomputeFp8{}; }},
      {"rename", rename_action},
      {"resize", resize_action},
      {"reencode", [](Fp8Options& o) -> EditAction { return ReencodeFp8{needed_release(o)}; }},
      {"inject", inject_action},
      {"regroup", [](Fp8Options& o) -> EditAction { return RegroupFp8{needed_release(o)}; }}};
  std::string all;
  for (const auto& [known, action] : verbs) {
    if (options.verb == known) return action(options);
    all += (all.empty() ? "" : ", ") + std::string(known);
  }
  throw Error(Status::invalid_argument, "verb is \"" + options.verb + "\"", "One of: " + all);
}

/// `findings` of what goes into the checkpoint, before those of the checkpoint.
void tell_first(EditPlan& plan, const std::vector<Finding>& findings) {
  plan.findings.insert(plan.findings.begin(), findings.begin(), findings.end());
}

/// An object: what stands in the source's paths, and what is there in its place.
std::vector<ModuleName> modules_of(const StateValue& value) {
  std::vector<ModuleName> modules;
  for (const auto& [from, to] : members_of(value, "modules")) {
    const auto* text = std::get_if<std::string>(&to);
    if (text == nullptr || from.empty())
      throw Error(Status::invalid_argument, "\"modules\" has no text for each", R"({"layers":"params.layers"})");
    modules.push_back({from, *text});
  }
  return modules;
}

/// The options of a migration, but for what every change has.
struct MigrateOptions {
  std::optional<std::string> at, framework, into, output, release;
  IntoRequest request = {};
  bool is_strict = false, fp8 = false;

  OptionPlaces places() {
    return {{"to", &framework},
            {"output", &output},
            {"into", &into},
            {"rename", &release},
            {"at", &at},
            {"into_at", &request.at},
            {"set", [this](const StateValue& value) { request.given = members_of(value, "set"); }},
            {"fp8", &fp8},
            {"modules", [this](const StateValue& value) { request.modules = modules_of(value); }},
            {"strict", &is_strict},
            {"align", &request.align},
            {"force", &request.force}};
  }
};

/// Puts the new file there, or only says what would be in it.
tare_text* new_file(const LoadedState& source_state, const std::string& source, const std::string& path,
                    const std::string& framework, const MigrateOptions& options, bool dry_run) {
  NewFilePlan plan = plan_new_file(source_state.state, framework, path, options.request.given);
  if (options.is_strict) require_lossless(plan.migration.conversion);
  for (const Finding& finding : source_state.findings) plan.migration.conversion.warnings.push_back(finding.message);
  if (!dry_run && !options.request.force && access(path.c_str(), F_OK) == 0)
    throw Error(Status::refused, path + ": is there already", "\"force\":true replaces it.");
  const MigrationOutcome outcome{source, path, nullptr, nullptr, {}, !dry_run};
  std::unique_ptr<tare_text> answer(new_text(migrate_json(plan.migration, outcome)));
  if (!dry_run) write_whole_file(path, plan.contents);
  return answer.release();
}

tare_text* into_checkpoint(const LoadedState& source_state, const std::string& source, MigrateOptions& options,
                           ChangeOptions& change) {
  Migration migration;
  const auto plan = [&](const Checkpoint& checkpoint) {
    IntoPlan planned = plan_migration(source_state.state, checkpoint, options.request);
    if (options.is_strict) require_lossless(planned.migration.conversion);
    migration = std::move(planned.migration);
    tell_first(planned.edit, source_state.findings);
    return std::move(planned.edit);
  };
  const auto json = [&](const Checkpoint& checkpoint, const EditPlan& edit, const std::optional<Receipt>& receipt) {
    return migrate_json(migration, {source, *options.into, &checkpoint, &edit, receipt, receipt.has_value()});
  };
  return carry_out(*options.into, change, {plan, json});
}

}  // namespace

int32_t tare_checkpoint_edit(tare_text** out, const char* path, const char* edit_json, tare_error* error) {
  return guard_making(out, error, [&] {
    require(path, "path");
    require(edit_json, "edit_json");
    EditRequest request;
    Assign action;
    ChangeOptions change;
    take_options(edit_json, "the options",
                 joined({{"schema", require_schema},
                         {"set", [&](const StateValue& value) { action.values = assignments_of(value); }},
                         {"at", &request.at},
                         {"layer", &request.layer},
                         {"all", &request.all},
                         {"align", &action.align},
                         {"force", &request.force}},
                        change.places()));
    if (action.values.empty() && !action.align)
      throw Error(Status::invalid_argument, "the edit sets nothing", "{\"set\":{\"scale\":1024}}");
    request.action = std::move(action);
    const auto plan = [&](const Checkpoint& checkpoint) { return plan_edit(checkpoint, request); };
    return carry_out(path, change, Change{plan});
  });
}

int32_t tare_checkpoint_fp8(tare_text** out, const char* path, const tare_state* state, const char* fp8_json,
                            tare_error* error) {
  return guard_making(out, error, [&] {
    require(path, "path");
    require(fp8_json, "fp8_json");
    EditRequest request;
    ChangeOptions change;
    Fp8Options fp8;
    take_options(fp8_json, "the options",
                 joined(joined({{"layer", &request.layer}, {"force", &request.force}}, fp8.places()), change.places()));
    if (state != nullptr) {
      fp8.state = &live(state, "state").state;
      fp8.findings = state->findings;
    }
    request.action = fp8_action(fp8);
    if (request.as<RegroupFp8>() != nullptr) need(request.layer.has_value(), "layer");
    request.all = true;
    const auto plan = [&](const Checkpoint& checkpoint) {
      EditPlan planned = plan_edit(checkpoint, request);
      tell_first(planned, fp8.findings);
      return planned;
    };
    return carry_out(path, change, Change{plan});
  });
}

int32_t tare_checkpoint_undo(tare_text** out, const char* path, const char* options_json, tare_error* error) {
  return guard_making(out, error, [&] {
    require(path, "path");
    UndoOptions options;
    ChangeOptions change;
    take_options(options_json, "the options",
                 {{"id", &options.id},
                  {"hard_links", &options.allow_hard_links},
                  change.journals.place(),
                  {"trust_journal", &change.journals.recovery.trust_journals},
                  change.places().back()});
    change.journals.keep_announced();
    options.recovery = change.journals.recovery;
    const Scope scope = checkpoint_scope(system_files(), path, made_journal_key(change.journals.state_folder));
    std::unique_ptr<tare_text> spare(new_text(undo_json(path, {})));
    UndoResult result = patiently(change.wait_seconds, [&] { return undo(scope, options); });
    return told(std::move(spare), [&] {
      const std::vector<Finding>& trusted = change.journals.trusted;
      result.findings.insert(result.findings.begin(), trusted.begin(), trusted.end());
      return undo_json(path, result);
    });
  });
}

int32_t tare_checkpoint_history(tare_text** out, const char* path, const char* options_json, tare_error* error) {
  return guard_making(out, error, [&] {
    require(path, "path");
    Journals journals;
    bool forget = false;
    take_options(options_json, "the options",
                 {{"prune", &forget}, journals.place(), {"trust_journal", &journals.recovery.trust_journals}});
    const Scope scope = journals.scopes_for_reading()(path);
    if (forget) prune(scope, journals.recovery);
    return new_text(json::gathered([&](const json::TextSink& sink) { write_history_json(path, scope, sink); }));
  });
}

int32_t tare_checkpoint_migrate(tare_text** out, const char* source, const char* options_json, tare_error* error) {
  return guard_making(out, error, [&] {
    require(source, "source");
    require(options_json, "options_json");
    MigrateOptions options;
    ChangeOptions change;
    take_options(options_json, "the options", joined(options.places(), change.places()));
    if (int(options.framework.has_value()) + int(options.into.has_value()) + int(options.release.has_value()) != 1) {
      throw Error(Status::invalid_argument, "one of \"to\", \"into\" and \"rename\" says where to",
                  R"({"to":"megatron","output":"grad_scaler.pt"}, {"into":"run/global_step4200"})");
    }
    if (options.release) {
      const auto plan = [&](const Checkpoint& checkpoint) {
        return plan_rename(checkpoint, *options.release, options.at);
      };
      return carry_out(source, change, Change{plan});
    }
    if (options.framework && !options.output)
      throw Error(Status::invalid_argument, "\"to\" needs \"output\", the path of the new file");
    const auto open = [scope_of = change.journals.scopes_for_reading()](const std::string& path) {
      return open_finished(path, {}, scope_of);
    };
    const LoadedState state = migration_source(source, {options.at, options.framework, options.fp8}, open);
    if (options.into) return into_checkpoint(state, source, options, change);
    return new_file(state, source, *options.output, *options.framework, options, change.dry_run);
  });
}

int32_t tare_checkpoint_write(tare_text** out, const tare_state* state, const char* path, const char* options_json,
                              tare_error* error) {
  return guard_making(out, error, [&] {
    const LoadedState given{live(state, "state").state, state->findings};
    require(path, "path");
    MigrateOptions options;
    std::string framework = given.state.policy;
    take_options(options_json, "the options",
                 {{"framework", &framework},
                  {"set", [&](const StateValue& value) { options.request.given = members_of(value, "set"); }},
                  {"strict", &options.is_strict},
                  {"force", &options.request.force}});
    return new_file(given, "the state", path, framework, options, false);
  });
}
