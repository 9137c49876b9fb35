#include "tools/journals.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/edit/checkpoint_scope.hpp"

using namespace tare;

namespace {

std::span<char* const> kept_command;

/// Where programs keep what they remember of their user, as freedesktop.org has it.
std::string state_folder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/tare";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return std::string(home) + "/.local/state/tare";
  return home_state_folder();
}

}  // namespace

JournalKey key_for_reading() {
  try {
    return journal_key(state_folder());
  } catch (const Error&) {
    return {};
  }
}

Scope scope_for_reading(const std::string& path) {
  return checkpoint_scope(system_files(), path, key_for_reading());
}

Scope scope_for_writing(const std::string& path) {
  return checkpoint_scope(system_files(), path, journal_key(state_folder()));
}

JournalKey sealing_key() {
  return made_journal_key(state_folder());
}

void keep_command(std::span<char* const> words) {
  kept_command = words;
}

Origin origin_of_command() {
  return this_origin(recorded_command(kept_command));
}

Option trust_option(RecoverOptions& recovery) {
  return {"--trust-journal", &recovery.trust_journals,
          "Act also upon records that your key did not seal; what they write is told first"};
}

RecoverOptions announced(const Terminal& terminal, RecoverOptions recovery) {
  recovery.announce = [&terminal](const std::string& line) {
    terminal.say(fmt::format("a journal that you did not write changes {}", escaped(line)));
  };
  return recovery;
}
