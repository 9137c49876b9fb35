#include "lib/report/pending_text.hpp"

#include <fmt/format.h>

#include "lib/base/text.hpp"

namespace tare {
namespace {

/// Nothing can be rolled back as long as something else's bytes are in its way.
std::string stopped_text(const Pending& pending) {
  std::string text = fmt::format(
      "an {} of {} in {} was interrupted, and something else has written or removed files of it since. `tare "
      "history --prune {}` leaves these as they are, brings the others back and ends it; undo and edit refuse until "
      "then",
      name(pending.kind), pending.when, escaped(pending.folder), shell_path(pending.folder));
  for (const std::string& file : pending.foreign) text += fmt::format("\n  {} is as it is now", escaped(file));
  return text;
}

}  // namespace

std::string pending_text(const Pending& pending) {
  if (pending.state == PendingState::in_progress) {
    return fmt::format("another tare is editing in {}: what is shown may change", escaped(pending.folder));
  }
  if (pending.state == PendingState::unreadable) {
    return fmt::format("an edit may be pending in {}, and its journal cannot be read: {}", escaped(pending.folder),
                       escaped(pending.problem));
  }
  if (!pending.is_own) {
    std::string text = fmt::format(
        "a journal in {} says that an {} of {} was interrupted. It is not sealed with your key and may have "
        "come "
        "with a download: the files are shown as they are. `tare history --prune` forgets it, --trust-journal acts on "
        "it",
        escaped(pending.folder), name(pending.kind), pending.when);
    for (const std::string& file : pending.files) text += fmt::format("\n  it names {}", escaped(file));
    return text;
  }
  if (!pending.foreign.empty()) return stopped_text(pending);
  std::string text = fmt::format(
      "an {} of {} in {} was interrupted. The state before it rules; `tare undo` or the next edit brings it "
      "back",
      name(pending.kind), pending.when, escaped(pending.folder));
  for (const FieldEdit& edit : pending.fields) {
    text += fmt::format("\n  {} {}: {} rules, not {}", escaped(edit.place), escaped(edit.field), escaped(edit.before),
                        escaped(edit.after));
  }
  return text;
}

}  // namespace tare
