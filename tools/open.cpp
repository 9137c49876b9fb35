#include "tools/open.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/edit/open_settled.hpp"
#include "lib/report/report.hpp"
#include "tools/exit_code.hpp"
#include "tools/journals.hpp"
#include "tools/network.hpp"
#include "tools/render.hpp"
#include "tools/standard_input.hpp"

using namespace tare;

namespace {

OpenOptions with_progress(const Terminal& terminal, const std::string& path, OpenOptions options) {
  options.files = path == standard_input_path ? &standard_input() : &files_of(path);
  options.on_progress = [&terminal](std::size_t done, std::size_t count) {
    terminal.progress(fmt::format("{} of {} files read", done, count));
  };
  return options;
}

void tell_files(const Terminal& terminal, const Checkpoint& checkpoint) {
  if (!terminal.is_verbose()) return;
  for (const CheckpointFile& file : checkpoint.files) {
    terminal.say(fmt::format("read {} ({}, {} bytes)", escaped(file.location), file.format, file.size));
  }
}

}  // namespace

void require_local(const std::string& path) {
  if (path == standard_input_path) {
    throw Error(Status::refused, "standard input is read, never changed", "give the file's name; ./- for one called -");
  }
  if (!is_url(path)) return;
  throw Error(Status::refused, path + ": remote objects are not edited in place",
              "download the checkpoint, edit that, and upload the files that the edit names");
}

const Files& one_storage_of(const std::vector<std::string>& paths) {
  const Files& first = files_of(paths.front());
  for (const std::string& path : paths) {
    if (path == standard_input_path || &files_of(path) == &first) continue;
    throw Error(Status::invalid_argument, "a run is read from one kind of storage at a time",
                "copy the logs of the other one here first");
  }
  return first;
}

Opened open_for_reading(const Terminal& terminal, const std::string& path, const OpenOptions& options) {
  if (is_url(path) || path == standard_input_path) {
    Checkpoint checkpoint = open_checkpoint(path, with_progress(terminal, path, options));
    tell_files(terminal, checkpoint);
    return {std::move(checkpoint), std::nullopt};
  }
  try {
    SettledCheckpoint read = open_settled(path, with_progress(terminal, path, options), scope_for_reading);
    tell_files(terminal, read.checkpoint);
    return {std::move(read.checkpoint), std::move(read.pending)};
  } catch (const Error&) {
    const auto pending = find_pending(scope_for_reading(path));
    if (pending) terminal.say(render_pending(*pending));
    throw;
  }
}

OpenOptions options_for_writing(const Terminal& terminal, const std::string& path) {
  require_local(path);
  return with_progress(terminal, path, {});
}

void tell_foreign_records(const Terminal& terminal, const Checkpoint& checkpoint) {
  for (const Finding& finding : checkpoint.findings) {
    if (finding.code == "foreign-record") terminal.say(render_finding(terminal, finding));
  }
}

int exit_of(const Terminal& terminal, const Checkpoint& checkpoint) {
  tell_foreign_records(terminal, checkpoint);
  for (const Finding& finding : checkpoint.findings) {
    if (finding.severity == Severity::error) terminal.say(render_finding(terminal, finding));
  }
  return is_negative(checkpoint) ? exit_no : exit_done;
}
