#include <exception>
#include <memory>
#include <optional>

#include "capi/src/caller_files.hpp"
#include "capi/src/guard.hpp"
#include "capi/src/handles.hpp"
#include "capi/src/journals.hpp"
#include "lib/checkpoint/choose.hpp"
#include "lib/codec/json.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/edit/checkpoint_scope.hpp"
#include "lib/edit/open_settled.hpp"
#include "lib/edit/plan.hpp"
#include "lib/report/report.hpp"
#include "lib/state/policy_state.hpp"
#include "lib/transaction/undo.hpp"

using namespace tare;
using namespace tare::capi;

namespace {

struct Edit {
  EditRequest request;
  Assign action;
  Journals journals;
  TransactionOptions transaction;
  bool dry_run = false;
};

/// An object within the options comes as its text.
void read_assignments(Assign& action, const StateValue& value) {
  const auto* object = std::get_if<OpaqueJson>(&value);
  if (object == nullptr)
    throw Error(Status::invalid_argument, "the edit's \"set\" is no object", "{\"set\":{\"scale\":1024}}");
  for (const auto& [key, wanted] : members_of_json(object->text, "the edit's \"set\"")) {
    if (!number_text(wanted) && !std::holds_alternative<std::string>(wanted)) {
      throw Error(Status::invalid_argument, "the edit of \"" + key + "\": a number, true, false or text is meant");
    }
    action.values.push_back({key, wanted});
  }
}

bool* flag_of(Edit& edit, const std::string& key) {
  if (key == "all") return &edit.request.all;
  if (key == "align") return &edit.action.align;
  if (key == "force") return &edit.request.force;
  if (key == "dry_run") return &edit.dry_run;
  if (key == "history") return &edit.transaction.keep_history;
  if (key == "hard_links") return &edit.transaction.allow_hard_links;
  if (key == "content_addressed") return &edit.transaction.allow_content_addressed;
  return nullptr;
}

Edit parse_edit(const char* json) {
  constexpr const char* allowed =
      "Options: schema, set, at, all, align, dry_run, force, history, hard_links, content_addressed, "
      "state_folder, trust_journal";
  Edit edit;
  for (const auto& [key, value] : members_of_json(json, "the edit")) {
    const auto* text = std::get_if<std::string>(&value);
    const auto* flag = std::get_if<bool>(&value);
    if (take_journal_option(edit.journals, key, value)) continue;
    if (key == "set") {
      read_assignments(edit.action, value);
    } else if (bool* into = flag_of(edit, key); into != nullptr && flag != nullptr) {
      *into = *flag;
    } else if (key == "at" && text != nullptr) {
      edit.request.at = *text;
    } else if (key == "schema" && text != nullptr) {
      if (*text != "tare.edit/1")
        throw Error(Status::unsupported, "the edit's schema is \"" + *text + "\", this tare knows \"tare.edit/1\"");
    } else if (key != "at" || !std::holds_alternative<std::monostate>(value)) {
      refuse_key(key, allowed);
    }
  }
  if (edit.action.values.empty() && !edit.action.align)
    throw Error(Status::invalid_argument, "the edit sets nothing", "{\"set\":{\"scale\":1024}}");
  edit.request.action = std::move(edit.action);
  return edit;
}

/// What is announced of trusted journals, as findings of the answer.
void keep_announced(RecoverOptions& recovery, std::vector<Finding>& into) {
  recovery.announce = [&into](const std::string& line) {
    into.push_back({Severity::note, "trusted-journal", "a journal that you did not write changed " + line, {}, {}});
  };
}

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

tare_text* edit_checkpoint(const char* path, Edit edit) {
  std::vector<Finding> trusted;
  keep_announced(edit.journals.recovery, trusted);
  edit.transaction.recovery = edit.journals.recovery;
  edit.transaction.recovery.allow_hard_links = edit.transaction.allow_hard_links;
  if (!edit.dry_run) {
    edit.transaction.key = made_journal_key(edit.journals.state_folder);
    edit.transaction.origin = this_origin("libtare");
    recover(checkpoint_scope(system_files(), path, edit.transaction.key), edit.transaction.recovery);
  }
  const ScopeOf scope_of = scopes_of(edit.transaction.key);
  const Checkpoint checkpoint =
      edit.dry_run ? open_settled(path, {}, scope_of).checkpoint : open_finished(path, {}, scope_of);
  const EditPlan plan = plan_edit(checkpoint, edit.request);
  if (edit.dry_run) {
    require_possible(system_files(), plan.files, edit.transaction);
    return new_text(edit_json(checkpoint, plan, std::nullopt));
  }
  std::unique_ptr<tare_text> spare(new_text(edit_json(checkpoint, plan, Receipt{})));
  Receipt receipt = commit(system_files(), plan.files, plan.for_history, edit.transaction);
  return told(std::move(spare), [&] {
    receipt.findings.insert(receipt.findings.begin(), trusted.begin(), trusted.end());
    return edit_json(checkpoint, plan, receipt);
  });
}

InspectParts parse_parts(const char* options_json, Journals& journals) {
  InspectParts parts;
  for (const auto& [key, value] : options_of(options_json)) {
    if (take_journal_option(journals, key, value)) continue;
    if (key != "globals" || !std::holds_alternative<bool>(value))
      refuse_key(key, "Options: globals (true or false), state_folder");
    parts.globals = std::get<bool>(value);
  }
  return parts;
}

struct StateOptions {
  Journals journals;
  Choice choice;
};

StateOptions parse_state_options(const char* options_json) {
  StateOptions options;
  for (const auto& [key, value] : options_of(options_json)) {
    if (key == "state_folder" && take_journal_option(options.journals, key, value)) continue;
    const auto* text = std::get_if<std::string>(&value);
    const bool is_none = std::holds_alternative<std::monostate>(value);
    if (key != "at" || (text == nullptr && !is_none)) refuse_key(key, "Options: at, state_folder");
    if (text != nullptr) options.choice.at = *text;
  }
  return options;
}

ScalerState read_state(const char* path, const StateOptions& options) {
  const Checkpoint checkpoint = open_finished(path, {}, scopes_of(key_for_reading(options.journals)));
  return completed(to_state(chosen_scalers(checkpoint, options.choice).front()->state()));
}

}  // namespace

int32_t tare_checkpoint_inspect(tare_text** out, const char* path, const char* options_json, tare_error* error) {
  return guard_making(out, error, [&] {
    require(path, "path");
    Journals journals;
    const InspectParts parts = parse_parts(options_json, journals);
    const ScopeOf scope_of = scopes_of(key_for_reading(journals));
    const auto [checkpoint, pending] = open_settled(path, {.list_globals = parts.globals}, scope_of);
    return new_text(inspect_json(checkpoint, pending, parts));
  });
}

int32_t tare_checkpoint_inspect_with(tare_text** out, const tare_source* source, const char* path,
                                     const char* options_json, tare_error* error) {
  return guard_making(out, error, [&] {
    require(source, "source");
    require(path, "path");
    Journals journals;
    const InspectParts parts = parse_parts(options_json, journals);
    const CallerFiles files(*source);
    const Checkpoint checkpoint = open_checkpoint(path, {.list_globals = parts.globals, .files = &files});
    return new_text(inspect_json(checkpoint, std::nullopt, parts));
  });
}

int32_t tare_checkpoint_edit(tare_text** out, const char* path, const char* edit_json, tare_error* error) {
  return guard_making(out, error, [&] {
    require(path, "path");
    require(edit_json, "edit_json");
    return edit_checkpoint(path, parse_edit(edit_json));
  });
}

int32_t tare_checkpoint_undo(tare_text** out, const char* path, const char* options_json, tare_error* error) {
  return guard_making(out, error, [&] {
    require(path, "path");
    UndoOptions options;
    Journals journals;
    for (const auto& [key, value] : options_of(options_json)) {
      if (take_journal_option(journals, key, value)) continue;
      if (const auto* id = std::get_if<std::string>(&value); key == "id" && id != nullptr) {
        options.id = *id;
        continue;
      }
      if (key != "hard_links" || !std::holds_alternative<bool>(value))
        refuse_key(key, "Options: hard_links (true or false), id, state_folder, trust_journal");
      options.allow_hard_links = std::get<bool>(value);
    }
    std::vector<Finding> trusted;
    keep_announced(journals.recovery, trusted);
    options.recovery = journals.recovery;
    const Scope scope = checkpoint_scope(system_files(), path, made_journal_key(journals.state_folder));
    std::unique_ptr<tare_text> spare(new_text(undo_json(path, {})));
    UndoResult result = undo(scope, options);
    return told(std::move(spare), [&] {
      result.findings.insert(result.findings.begin(), trusted.begin(), trusted.end());
      return undo_json(path, result);
    });
  });
}

int32_t tare_checkpoint_attest(tare_text** out, const char* path, const char* options_json, tare_error* error) {
  return guard_making(out, error, [&] {
    require(path, "path");
    TorchRelease release = newest_torch_release();
    AttestScope scope = AttestScope::checkpoint;
    Journals journals;
    for (const auto& [key, value] : options_of(options_json)) {
      if (key == "state_folder" && take_journal_option(journals, key, value)) continue;
      if (const auto* version = std::get_if<std::string>(&value); key == "torch" && version != nullptr) {
        release = require_torch_release(*version);
      } else if (const bool* all = std::get_if<bool>(&value); key == "all" && all != nullptr) {
        scope = *all ? AttestScope::everything : AttestScope::checkpoint;
      } else {
        refuse_key(key, "Options: torch (a release, such as \"2.6\"), all (true or false), state_folder");
      }
    }
    const Checkpoint checkpoint = open_settled(path, {}, scopes_of(key_for_reading(journals))).checkpoint;
    return new_text(attest_json(checkpoint, attest(checkpoint, release, scope)));
  });
}

int32_t tare_checkpoint_state(tare_state** out, const char* path, const char* at, tare_error* error) {
  return guard_making(out, error, [&] {
    require(path, "path");
    StateOptions options;
    if (at != nullptr) options.choice.at = at;
    return new tare_state{read_state(path, options)};
  });
}

int32_t tare_checkpoint_state_as(tare_state** out, const char* path, const char* options_json, tare_error* error) {
  return guard_making(out, error, [&] {
    require(path, "path");
    return new tare_state{read_state(path, parse_state_options(options_json))};
  });
}
