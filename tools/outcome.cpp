#include "tools/outcome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>

#include "lib/base/distant_files.hpp"
#include "lib/base/error.hpp"
#include "lib/base/no_rule.hpp"
#include "lib/base/text.hpp"
#include "tools/exit_code.hpp"

namespace {

int exit_code(const tare::Error& error) {
  if (dynamic_cast<const tare::NoRule*>(&error) != nullptr) return exit_refused;
  switch (error.status) {
    case tare::Status::invalid_argument:
      return exit_usage;
    case tare::Status::refused:
    case tare::Status::conflict:
    case tare::Status::mismatch:
      return exit_refused;
    default:
      return exit_failed;
  }
}

/// What nobody reads any more is thrown on.
int told_outcome(const Terminal& terminal, const std::function<int()>& verb) {
  try {
    return verb();
  } catch (const ReaderLeft&) {
    throw;
  } catch (const tare::Error& error) {
    terminal.say(fmt::format("tare: {}", tare::escaped(error.what())));
    if (!error.hint.empty()) terminal.say(fmt::format("hint: {}", tare::escaped(error.hint)));
    return exit_code(error);
  } catch (const std::bad_alloc&) {
    terminal.say("tare: out of memory");
  } catch (const std::exception& error) {
    terminal.say(fmt::format("tare: {}", tare::escaped(error.what())));
  }
  return exit_failed;
}

}  // namespace

int outcome(const Terminal& terminal, const std::function<int()>& verb) {
  try {
    return told_outcome(terminal, verb);
  } catch (const ReaderLeft&) {
    return exit_failed;
  }
}

int outcome_of_each(const Terminal& terminal, const std::vector<std::string>& paths,
                    const std::function<int(const std::string&)>& verb) {
  if (paths.size() == 1) return verb(paths.front());
  int worst = exit_done;
  for (const std::string& path : paths) worst = std::max(worst, told_outcome(terminal, [&] { return verb(path); }));
  return worst;
}

std::size_t usual_jobs(const tare::Files& files) {
  constexpr std::size_t files_of_one = 8;
  return std::max<std::size_t>(1, tare::most_at_once(files) / files_of_one);
}
