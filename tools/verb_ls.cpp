#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lib/edit/open_settled.hpp"
#include "lib/report/listed.hpp"
#include "tools/journals.hpp"
#include "tools/network.hpp"
#include "tools/network_options.hpp"
#include "tools/open.hpp"
#include "tools/outcome.hpp"
#include "tools/render.hpp"
#include "tools/render_listed.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

struct LsVerbOptions {
  std::vector<std::string> paths;
  std::size_t jobs = 0;
  bool json = false;
};

/// Edits that are not finished, by the path of the checkpoint that they concern.
using PendingOf = std::map<std::string, Pending>;

/// As an edit leaves it; what an interrupted one means is said once for each.
Checkpoint opened(const Terminal& terminal, const std::string& path, std::mutex& turn, PendingOf& pending_of) {
  const OpenOptions options{.files = &files_of(path)};
  if (is_url(path)) return open_checkpoint(path, options);
  SettledCheckpoint read = open_settled(path, options, scope_for_reading);
  if (read.pending) {
    const std::lock_guard lock(turn);
    terminal.say(render_pending(*read.pending));
    pending_of[path] = *std::move(read.pending);
  }
  return std::move(read.checkpoint);
}

bool is_of(const ListedCheckpoint& checkpoint, const Pending& pending) {
  return std::ranges::any_of(pending.files, [&](const std::string& file) {
    return file == checkpoint.path || file.starts_with(checkpoint.path + "/");
  });
}

/// By one listing of the store, not checkpoint by checkpoint.
PendingOf pending_in_store(const std::vector<Pending>& unfinished, const std::vector<ListedCheckpoint>& listed) {
  PendingOf pending_of;
  for (const ListedCheckpoint& checkpoint : listed) {
    const auto found = std::ranges::find_if(unfinished, [&](const Pending& one) { return is_of(checkpoint, one); });
    if (found != unfinished.end()) pending_of[checkpoint.path] = *found;
  }
  return pending_of;
}

bool has_error(const ListedCheckpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.findings,
                             [](const Finding& finding) { return finding.severity == Severity::error; });
}

int list_path(const Terminal& terminal, const LsVerbOptions& options, const std::string& path) {
  const Files& files = files_of(path);
  std::mutex turn;
  PendingOf pending_of;
  const auto found =
      list_checkpoints(path, {.files = &files,
                              .at_once = options.jobs > 0 ? options.jobs : usual_jobs(files),
                              .open = [&](const std::string& one) { return opened(terminal, one, turn, pending_of); }});
  if (is_url(path)) {
    const std::vector<Pending> unfinished = unfinished_in_store(path);
    tell_unfinished(terminal, unfinished);
    pending_of = pending_in_store(unfinished, found);
  }
  if (options.json) {
    for (const ListedCheckpoint& checkpoint : found) {
      const auto pending = pending_of.find(checkpoint.path);
      terminal.answer(
          listed_line(checkpoint, pending == pending_of.end() ? std::nullopt : std::optional(pending->second)));
    }
  } else {
    terminal.answer(render_listed(terminal, found));
  }
  return std::ranges::any_of(found, has_error) ? exit_no : exit_done;
}

int list(const Terminal& terminal, const LsVerbOptions& options) {
  return outcome_of_each(terminal, reached(options.paths),
                         [&](const std::string& path) { return list_path(terminal, options, path); });
}

}  // namespace

Verb ls_verb() {
  auto options = std::make_shared<LsVerbOptions>();
  return {
      .name = "ls",
      .purpose = "List the checkpoints below a folder: framework, step, scale, what is wrong",
      .options = joined(
          {{{"PATH", &options->paths, "Folders of checkpoints, run folders, folders of runs", Presence::required},
            {"--jobs", &options->jobs, "How many checkpoints are read at the same time (default: 2; of URLs 8)"},
            {"--json", &options->json, "Answer in lines of JSON (schema tare.ls/1), one a checkpoint"},
            {"--json-lines", &options->json, "The same: so it is called by other verbs"}},
           network_options()}),
      .closing_words =
          "A folder that `tare inspect` reads as one checkpoint is one; of a run each save is listed. Exit 1: of one "
          "of\n"
          "them an error is told, or it cannot be read.\n"
          "Examples:\n"
          "  tare ls run\n"
          "  tare ls s3://bucket/runs --json | jq -r 'select(.scale == 0) | .path'",
      .run = [options](const Terminal& t) { return list(t, *options); },
  };
}
