#include <fmt/format.h>

#include <map>
#include <memory>
#include <set>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/codec/json_line.hpp"
#include "lib/objects/object_transaction.hpp"
#include "lib/report/report.hpp"
#include "tools/journals.hpp"
#include "tools/network.hpp"
#include "tools/network_options.hpp"
#include "tools/open.hpp"
#include "tools/outcome.hpp"
#include "tools/records.hpp"
#include "tools/render.hpp"
#include "tools/tell_copied.hpp"
#include "tools/tell_made.hpp"
#include "tools/verb.hpp"
#include "tools/waiting.hpp"

using namespace tare;

namespace {

struct UndoVerbOptions {
  std::vector<std::string> paths;
  UndoOptions undo;
  bool yes = false;
  bool json = false;
  bool json_lines = false;
  int wait_seconds = usual_wait_seconds;
};

std::string render_undo(const std::string& path, const UndoResult& result) {
  const std::size_t count = result.files.size();
  const bool was_undoing = result.kind == UndoKind::rolled_back && result.interrupted == JournalKind::undo;
  return fmt::format(
      "{} #{} ({}): {} file{} restored, byte for byte{}\n{}\n",
      result.kind == UndoKind::undone ? "undid edit"
      : was_undoing                   ? "rolled back the interrupted undo of edit"
                                      : "rolled back the interrupted edit",
      result.number, escaped(result.id), count, count == 1 ? "" : "s",
      was_undoing ? fmt::format("\nthe edit stands; `tare undo {}` again takes it back", shell_path(path)) : "",
      render_files(result.folder, result.files));
}

void tell_strangers(const Terminal& terminal, const std::string& path) {
  if (const auto strangers = foreign_records(scope_for_writing(path))) {
    terminal.say(render_finding(terminal, *strangers));
  }
}

std::string answer_of(const UndoVerbOptions& options, const std::string& path, const UndoResult& result) {
  if (options.json_lines) return JsonLine().of(undo_json(path, result));
  return options.json ? undo_json(path, result) : render_undo(path, result);
}

int run_undo(const Terminal& terminal, const UndoVerbOptions& options, const std::string& path, const std::string& id) {
  ObjectLayer* const objects = objects_to_change(path);
  if (!options.yes) terminal.require_yes("Take back the last edit of " + escaped(path) + "?", "--yes");
  UndoOptions wanted = options.undo;
  wanted.id = id;
  wanted.recovery = announced(terminal, wanted.recovery);
  const JournalKey key = sealing_key();  // so that the record of this undo is sealed, too
  if (objects == nullptr) tell_strangers(terminal, path);
  wanted.on_copied = shown_while_copying(terminal);
  const UndoResult result = while_others_edit(path, options.wait_seconds, [&] {
    return objects == nullptr ? undo(scope_for_writing(path), wanted) : undo(*objects, path, key, wanted);
  });
  if (!options.json && !options.json_lines) {
    for (const Finding& finding : result.findings) terminal.say(render_finding(terminal, finding));
  }
  return tell_made(terminal, [&] { return answer_of(options, path, result); });
}

/// The edit that is to be taken back: the one that was interrupted, or the last. Empty where there is none, or it
/// cannot be seen: an undo says why.
std::string edit_to_undo(const UndoVerbOptions& options, const std::string& path) {
  if (!options.undo.id.empty()) return options.undo.id;
  try {
    const Records records = records_of(path);
    if (records.pending) return records.pending->id;
    std::string last;
    records.tell([&](const HistoryEntry& entry) {
      const bool is_trusted = entry.is_own || options.undo.recovery.trust_journals;
      if (entry.state == HistoryState::applied && is_trusted) last = entry.id;
    });
    return last;
  } catch (const Error&) {
    return {};
  }
}

/// One edit may have changed several of the paths: it is taken back once, and not the one before it as well.
int undo_each(const Terminal& terminal, const UndoVerbOptions& options) {
  const std::vector<std::string> paths = paths_to_change(options.paths);
  if (paths.size() == 1) return run_undo(terminal, options, paths.front(), options.undo.id);
  std::map<std::string, std::string> edits;
  for (const std::string& path : paths) edits[path] = edit_to_undo(options, path);
  std::set<std::string> taken_back;
  return outcome_of_each(terminal, paths, [&](const std::string& path) {
    const std::string& id = edits.at(path);
    if (taken_back.contains(id)) {
      terminal.note(fmt::format("{}: its edit, {}, is taken back already", escaped(path), escaped(id)));
      return static_cast<int>(exit_done);
    }
    const int code = run_undo(terminal, options, path, id);
    if (!id.empty()) taken_back.insert(id);
    return code;
  });
}

}  // namespace

Verb undo_verb() {
  auto options = std::make_shared<UndoVerbOptions>();
  return {
      .name = "undo",
      .purpose = "Take back the last edit, in all of its files",
      .options =
          joined({{{"PATH", &options->paths, "A file or folder that the edit changed; several: the last edit of each",
                    Presence::required},
                   {"--id", &options->undo.id, "Take back this edit, by the id that `tare history` shows"},
                   {"-y,--yes", &options->yes, "Do not ask"},
                   trust_option(options->undo.recovery),
                   wait_option(options->wait_seconds),
                   {"--hard-links", &options->undo.allow_hard_links, "Also in files that have other names"},
                   {"--json", &options->json, "Answer in JSON (schema tare.undo/1)"},
                   {"--json-lines", &options->json_lines, "The same, a document a line"}},
                  network_options()}),
      .closing_words =
          "Repeat it to go back through earlier edits. An edit that was interrupted is rolled back instead;\n"
          "with --id before the edit that is meant, where it stands in its way.\n"
          "Refused where a file is no longer what the edit made of it.",
      .run = [options](const Terminal& t) { return undo_each(t, *options); },
  };
}
