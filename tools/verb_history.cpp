#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "lib/base/text.hpp"
#include "lib/codec/json_line.hpp"
#include "lib/objects/object_transaction.hpp"
#include "lib/report/report.hpp"
#include "tools/exit_code.hpp"
#include "tools/journals.hpp"
#include "tools/network.hpp"
#include "tools/network_options.hpp"
#include "tools/open.hpp"
#include "tools/outcome.hpp"
#include "tools/records.hpp"
#include "tools/render.hpp"
#include "tools/tell_made.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

struct HistoryVerbOptions {
  std::vector<std::string> paths;
  RecoverOptions recovery;
  bool prune = false;
  bool yes = false;
  bool json = false;
  bool json_lines = false;
};

/// What was not finished, and what has become of it.
std::string render_ended(const Pending& pending, const RecoverOptions& recovery) {
  const std::string where = escaped(pending.folder);
  if (pending.state == PendingState::unreadable) {
    return fmt::format("removed a pending journal in {} that cannot be read: {}", where, escaped(pending.problem));
  }
  const bool is_rolled_back = pending.is_own || recovery.trust_journals;
  std::string text = fmt::format("{} an {} of {} in {} that was interrupted", is_rolled_back ? "rolled back" : "forgot",
                                 name(pending.kind), pending.when, where);
  for (const std::string& file : pending.files) {
    const bool is_left = !is_rolled_back || std::ranges::find(pending.foreign, file) != pending.foreign.end();
    text += fmt::format("\n  {} is as it was {}", escaped(file), is_left ? "when this began" : "before that");
  }
  return text;
}

int forget(const Terminal& terminal, const HistoryVerbOptions& options, const std::string& path) {
  ObjectLayer* const objects = objects_to_change(path);
  if (objects == nullptr) require_known(path, records_of(path));
  if (!options.yes) terminal.require_yes("Forget every edit of " + escaped(path) + "?", "--yes");
  const RecoverOptions recovery = announced(terminal, options.recovery);
  const Pruned pruned =
      objects == nullptr ? prune(scope_for_writing(path), recovery) : prune(*objects, path, sealing_key(), recovery);
  for (const Pending& pending : pruned.ended) terminal.say(render_ended(pending, recovery));
  const std::size_t count = pruned.records;
  const auto answer = [&] {
    const std::size_t ended = pruned.ended.size();
    return fmt::format(
        "forgot {} edit{}: {} cannot be undone any more\n{}", count, count == 1 ? "" : "s", count == 1 ? "it" : "they",
        ended == 0 ? "" : fmt::format("ended {} that {} not finished\n", ended, ended == 1 ? "was" : "were"));
  };
  if (pruned.busy) {
    terminal.say(answer());
    throw *pruned.busy;
  }
  if (pruned.records > 0 || !pruned.ended.empty()) return tell_made(terminal, answer);
  terminal.answer(answer());
  return exit_done;
}

int answer_in_json(const Terminal& terminal, const HistoryVerbOptions& options, const std::string& path,
                   const Records& records) {
  JsonLine line;
  write_history_json(path, records.pending, records.tell, [&](std::string_view piece) {
    terminal.answer(options.json_lines ? line.next(piece) : std::string(piece));
  });
  if (options.json_lines) terminal.answer("\n");
  return exit_done;
}

int show_history(const Terminal& terminal, const HistoryVerbOptions& options, const std::string& path) {
  if (options.prune) return forget(terminal, options, path);
  const Records records = records_of(path);
  require_known(path, records);
  if (options.json || options.json_lines) return answer_in_json(terminal, options, path, records);
  if (records.pending) terminal.say(render_pending(*records.pending));
  bool is_empty = true;
  records.tell([&](const HistoryEntry& entry) {
    is_empty = false;
    terminal.answer(render_history_entry(terminal, entry));
  });
  if (is_empty) terminal.answer(fmt::format("no edits of {} are on record\n", escaped(path)));
  return exit_done;
}

int show_each(const Terminal& terminal, const HistoryVerbOptions& options) {
  const std::vector<std::string> paths = paths_to_change(options.paths);
  const bool has_titles = paths.size() > 1 && !options.json && !options.json_lines && !options.prune;
  return outcome_of_each(terminal, paths, [&](const std::string& path) {
    if (has_titles) terminal.answer(fmt::format("{}\n", terminal.styled(Style::strong, escaped(path))));
    return show_history(terminal, options, path);
  });
}

}  // namespace

Verb history_verb() {
  auto options = std::make_shared<HistoryVerbOptions>();
  return {
      .name = "history",
      .purpose = "What was edited, when, from what to what",
      .options = joined({{{"PATH", &options->paths, "A file or folder; several: of each", Presence::required},
                          {"--prune", &options->prune, "Forget it all, and with it the means to undo"},
                          trust_option(options->recovery),
                          {"-y,--yes", &options->yes, "With --prune: do not ask"},
                          {"--json", &options->json, "Answer in JSON (schema tare.history/1)"},
                          {"--json-lines", &options->json_lines, "The same, a document a line"}},
                         network_options()}),
      .closing_words =
          "The oldest edit comes first, each with the command that made it; `tare undo` takes the newest back.\n"
          "Examples:\n"
          "  tare history run/global_step4200\n"
          "  tare history run --json | jq -r '.edits[].id'",
      .run = [options](const Terminal& t) { return show_each(t, *options); },
  };
}
