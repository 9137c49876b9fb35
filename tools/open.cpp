#include "tools/open.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"
#include "tools/render.hpp"

using namespace tare;

Opened open_for_reading(const Terminal& terminal, const std::string& path, const OpenOptions& options) {
  try {
    Checkpoint checkpoint = open_checkpoint(path, options);
    auto pending = find_pending(system_files(), checkpoint.resolved, {});
    return {std::move(checkpoint), std::move(pending)};
  } catch (const Error&) {
    const auto pending = find_pending(system_files(), path, {});
    if (pending) terminal.say(render_pending(*pending));
    throw;
  }
}

Checkpoint open_for_writing(const Terminal& terminal, const std::string& path) {
  std::string interrupted = path;
  try {
    Checkpoint checkpoint = open_checkpoint(path, {.keep_open = true});
    if (!find_pending(system_files(), checkpoint.resolved, {})) return checkpoint;
    interrupted = checkpoint.resolved;
  } catch (const Error&) {
    // Half-written files may be why it cannot be read: they come back first.
    if (!find_pending(system_files(), path, {})) throw;
  }
  for (const Pending& rolled_back : recover(system_files(), interrupted, {})) {
    terminal.say(fmt::format("rolled back an edit of {} that was interrupted", rolled_back.when));
  }
  return open_checkpoint(path, {.keep_open = true});
}
