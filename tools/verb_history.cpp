#include <fmt/format.h>

#include <memory>

#include "lib/base/text.hpp"
#include "lib/report/report.hpp"
#include "tools/journals.hpp"
#include "tools/open.hpp"
#include "tools/render.hpp"
#include "tools/tell_made.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

struct Options {
  std::string path;
  RecoverOptions recovery;
  bool prune = false;
  bool yes = false;
  bool json = false;
};

int show_history(const Terminal& terminal, const Options& options) {
  require_local(options.path);
  if (options.prune) {
    if (!options.yes) terminal.require_yes("Forget every edit of " + escaped(options.path) + "?", "--yes");
    const std::size_t count = prune(scope_for_writing(options.path), announced(terminal, options.recovery));
    return tell_made(terminal, [&] {
      return fmt::format("forgot {} edit{}: {} cannot be undone any more\n", count, count == 1 ? "" : "s",
                         count == 1 ? "it" : "they");
    });
  }
  const Scope scope = scope_for_reading(options.path);
  if (options.json) {
    write_history_json(options.path, scope, [&](std::string_view piece) { terminal.answer(piece); });
    return exit_done;
  }
  if (const auto pending = find_pending(scope)) terminal.say(render_pending(*pending));
  bool is_empty = true;
  history(scope, [&](const HistoryEntry& entry) {
    is_empty = false;
    terminal.answer(render_history_entry(terminal, entry));
  });
  if (is_empty) terminal.answer(fmt::format("no edits of {} are on record\n", escaped(options.path)));
  return exit_done;
}

}  // namespace

Verb history_verb() {
  auto options = std::make_shared<Options>();
  return {
      .name = "history",
      .purpose = "What was edited, when, from what to what",
      .options = {{"PATH", &options->path, "A file or folder", Presence::required},
                  {"--prune", &options->prune, "Forget it all, and with it the means to undo"},
                  trust_option(options->recovery),
                  {"-y,--yes", &options->yes, "With --prune: do not ask"},
                  {"--json", &options->json, "Answer in JSON (schema tare.history/1)"}},
      .run = [options](const Terminal& t) { return show_history(t, *options); },
  };
}
