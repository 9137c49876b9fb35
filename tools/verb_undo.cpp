#include <fmt/format.h>

#include <memory>

#include "lib/base/text.hpp"
#include "lib/objects/object_transaction.hpp"
#include "lib/report/report.hpp"
#include "tools/journals.hpp"
#include "tools/network.hpp"
#include "tools/network_options.hpp"
#include "tools/open.hpp"
#include "tools/render.hpp"
#include "tools/tell_copied.hpp"
#include "tools/tell_made.hpp"
#include "tools/verb.hpp"
#include "tools/waiting.hpp"

using namespace tare;

namespace {

struct Options {
  std::string path;
  UndoOptions undo;
  bool yes = false;
  bool json = false;
  int wait_seconds = usual_wait_seconds;
};

std::string render_undo(const UndoResult& result) {
  const std::size_t count = result.files.size();
  return fmt::format("{} #{} ({}): {} file{} restored, byte for byte\n{}\n",
                     result.kind == UndoKind::undone ? "undid edit" : "rolled back the interrupted edit", result.number,
                     escaped(result.id), count, count == 1 ? "" : "s", render_files(result.folder, result.files));
}

void tell_strangers(const Terminal& terminal, const std::string& path) {
  if (const auto strangers = foreign_records(scope_for_writing(path))) {
    terminal.say(render_finding(terminal, *strangers));
  }
}

int run_undo(const Terminal& terminal, const Options& options) {
  ObjectLayer* const objects = objects_to_change(options.path);
  if (!options.yes) terminal.require_yes("Take back the last edit of " + escaped(options.path) + "?", "--yes");
  UndoOptions wanted = options.undo;
  wanted.recovery = announced(terminal, wanted.recovery);
  const JournalKey key = sealing_key();  // so that the record of this undo is sealed, too
  if (objects == nullptr) tell_strangers(terminal, options.path);
  wanted.on_copied = shown_while_copying(terminal);
  const UndoResult result = while_others_edit(options.path, options.wait_seconds, [&] {
    return objects == nullptr ? undo(scope_for_writing(options.path), wanted)
                              : undo(*objects, options.path, key, wanted);
  });
  if (!options.json) {
    for (const Finding& finding : result.findings) terminal.say(render_finding(terminal, finding));
  }
  return tell_made(terminal, [&] { return options.json ? undo_json(options.path, result) : render_undo(result); });
}

}  // namespace

Verb undo_verb() {
  auto options = std::make_shared<Options>();
  return {
      .name = "undo",
      .purpose = "Take back the last edit, in all of its files",
      .options = joined({{{"PATH", &options->path, "A file or folder that the edit changed", Presence::required},
                          {"--id", &options->undo.id, "Take back this edit, by the id that `tare history` shows"},
                          {"-y,--yes", &options->yes, "Do not ask"},
                          trust_option(options->undo.recovery),
                          wait_option(options->wait_seconds),
                          {"--hard-links", &options->undo.allow_hard_links, "Also in files that have other names"},
                          {"--json", &options->json, "Answer in JSON (schema tare.undo/1)"}},
                         network_options()}),
      .closing_words =
          "Repeat it to go back through earlier edits. An edit that was interrupted is rolled back instead.\n"
          "Refused where a file is no longer what the edit made of it.",
      .run = [options](const Terminal& t) { return run_undo(t, *options); },
  };
}
