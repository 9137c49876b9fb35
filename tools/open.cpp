#include "tools/open.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "lib/base/distant_files.hpp"
#include "lib/base/error.hpp"
#include "lib/base/letters.hpp"
#include "lib/base/shown_url.hpp"
#include "lib/base/text.hpp"
#include "lib/edit/open_settled.hpp"
#include "lib/objects/object_transaction.hpp"
#include "lib/report/report.hpp"
#include "lib/report/unfinished.hpp"
#include "lib/transaction/store.hpp"
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

ObjectLayer* objects_of(const std::string& path) {
  return is_url(path) ? changeable_objects(path) : nullptr;
}

/// Looked for after all was read: what was at work meanwhile is told. Not where it is known already that what was read
/// was there at one moment, and nobody at work.
std::optional<Pending> pending_of_objects(const std::string& path, const Checkpoint& checkpoint) {
  ObjectLayer* objects = objects_of(path);
  if (objects == nullptr) return std::nullopt;
  std::vector<std::string> read;
  std::vector<FileVersion> versions;
  for (const CheckpointFile& file : checkpoint.files) {
    read.push_back(file.location);
    versions.push_back({file.location, file.version});
  }
  const auto* distant = dynamic_cast<const DistantFiles*>(checkpoint.storage);
  const std::string claim = std::string(store_name) + "/" + pending_name;
  if (distant != nullptr && distant->was_all_there_without(checkpoint.resolved, claim, versions)) return std::nullopt;
  return find_pending(*objects, checkpoint.resolved, read, key_for_reading());
}

/// An edit that is not finished may be why it cannot be read. A store that does not answer is not asked again.
void tell_why(const Terminal& terminal, const std::string& path, const Error& error) {
  if (path == standard_input_path || (is_url(path) && error.status == Status::io)) return;
  if (!is_url(path)) {
    if (const auto pending = find_pending(scope_for_reading(path))) terminal.say(render_pending(*pending));
    return;
  }
  try {
    tell_unfinished(terminal, unfinished_in_store(path));
  } catch (const Error&) {
    // What went wrong first is what is told.
  }
}

}  // namespace

void require_local(const std::string& path) {
  if (path == standard_input_path) {
    throw Error(Status::refused, "standard input is read, never changed", "give the file's name; ./- for one called -");
  }
  if (!is_url(path)) return;
  throw Error(Status::refused, shown_url(path) + ": this needs files of this machine", "download the checkpoint");
}

namespace {

struct Unchangeable {
  std::string_view scheme;
  const char* reason;
  const char* instead;
};

constexpr auto changeable = std::to_array<std::string_view>({"s3", "gs", "az"});
constexpr const char* by_hand = "download the checkpoint, edit that, and upload the files that the edit names";

constexpr auto unchangeable = std::to_array<Unchangeable>({
    {"hf", "the Hub takes changes as commits alone",
     "download the checkpoint, edit that, and commit the files that the edit names (hf upload)"},
    {"", "files of a web server are not edited in place", by_hand},
});

/// In small letters, without the "://".
std::string scheme_of(const std::string& url) {
  return in_small_letters(url.substr(0, url.find(':')));
}

}  // namespace

std::vector<std::string> paths_to_change(const std::vector<std::string>& paths) {
  std::vector<std::string> meant;
  for (const std::string& path : paths) {
    const bool is_changeable = !is_url(path) || std::ranges::find(changeable, scheme_of(path)) != changeable.end();
    for (const std::string& one : is_changeable ? reached({path}) : std::vector<std::string>{path}) {
      if (std::ranges::find(meant, one) == meant.end()) meant.push_back(one);
    }
  }
  return meant;
}

ObjectLayer* objects_to_change(const std::string& path) {
  if (!is_url(path)) {
    require_local(path);
    return nullptr;
  }
  // Of most it is known without asking anybody, and without the program that asks.
  const std::string scheme = scheme_of(path);
  if (std::ranges::find(changeable, scheme) != changeable.end()) return changeable_objects(path);
  const auto* why_not = std::find_if(unchangeable.begin(), unchangeable.end(), [&](const Unchangeable& row) {
    return row.scheme.empty() || row.scheme == scheme;
  });
  throw Error(Status::refused, fmt::format("{}: {}", shown_url(path), why_not->reason), why_not->instead);
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
  try {
    if (is_url(path) || path == standard_input_path) {
      Checkpoint checkpoint = open_checkpoint(path, with_progress(terminal, path, options));
      tell_files(terminal, checkpoint);
      std::optional<Pending> pending = pending_of_objects(path, checkpoint);
      return {std::move(checkpoint), std::move(pending)};
    }
    SettledCheckpoint read = open_settled(path, with_progress(terminal, path, options), scope_for_reading);
    tell_files(terminal, read.checkpoint);
    return {std::move(read.checkpoint), std::move(read.pending)};
  } catch (const Error& error) {
    tell_why(terminal, path, error);
    throw;
  }
}

std::vector<Pending> unfinished_in_store(const std::string& url) {
  ObjectLayer* objects = objects_of(url);
  return objects == nullptr ? std::vector<Pending>{} : all_pending(*objects, url, key_for_reading());
}

std::vector<Pending> unfinished_of(const std::vector<std::string>& paths, const Trace& trace) {
  if (!is_url(paths.front())) return unfinished_of(trace, scope_for_reading);
  std::vector<Pending> unfinished;
  for (const std::string& path : paths) std::ranges::move(unfinished_in_store(path), std::back_inserter(unfinished));
  return unfinished;
}

void tell_unfinished(const Terminal& terminal, const std::vector<Pending>& unfinished) {
  for (const Pending& pending : unfinished) terminal.say(render_pending(pending));
}

Checkpoint open_finished_at(const std::string& path) {
  if (!is_url(path)) return open_finished(path, {}, scope_for_reading);
  Checkpoint checkpoint = open_checkpoint(path, {.files = &files_of(path)});
  require_finished(path, pending_of_objects(path, checkpoint));
  return checkpoint;
}

OpenOptions options_for_writing(const Terminal& terminal, const std::string& path) {
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
