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

/// Where the edits of a path are on record: beside files, or in a store.
struct Records {
  std::optional<Pending> pending;
  TellHistory tell;
};

Records records_of(const std::string& path) {
  if (ObjectLayer* const objects = objects_to_change(path)) {
    const JournalKey key = key_for_reading();
    return {find_pending(*objects, path, key), [=](const auto& take) { history(*objects, path, key, take); }};
  }
  const Scope scope = scope_for_reading(path);
  return {find_pending(scope), [=](const auto& take) { history(scope, take); }};
}

int forget(const Terminal& terminal, const Options& options) {
  ObjectLayer* const objects = objects_to_change(options.path);
  if (!options.yes) terminal.require_yes("Forget every edit of " + escaped(options.path) + "?", "--yes");
  const RecoverOptions recovery = announced(terminal, options.recovery);
  const std::size_t count = objects == nullptr ? prune(scope_for_writing(options.path), recovery)
                                               : prune(*objects, options.path, sealing_key(), recovery);
  return tell_made(terminal, [&] {
    return fmt::format("forgot {} edit{}: {} cannot be undone any more\n", count, count == 1 ? "" : "s",
                       count == 1 ? "it" : "they");
  });
}

int show_history(const Terminal& terminal, const Options& options) {
  if (options.prune) return forget(terminal, options);
  const Records records = records_of(options.path);
  if (options.json) {
    write_history_json(options.path, records.pending, records.tell,
                       [&](std::string_view piece) { terminal.answer(piece); });
    return exit_done;
  }
  if (records.pending) terminal.say(render_pending(*records.pending));
  bool is_empty = true;
  records.tell([&](const HistoryEntry& entry) {
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
      .options = joined({{{"PATH", &options->path, "A file or folder", Presence::required},
                          {"--prune", &options->prune, "Forget it all, and with it the means to undo"},
                          trust_option(options->recovery),
                          {"-y,--yes", &options->yes, "With --prune: do not ask"},
                          {"--json", &options->json, "Answer in JSON (schema tare.history/1)"}},
                         network_options()}),
      .run = [options](const Terminal& t) { return show_history(t, *options); },
  };
}
