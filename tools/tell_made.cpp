#include "tools/tell_made.hpp"

#include <fmt/format.h>

#include "lib/base/text.hpp"
#include "tools/exit_code.hpp"

int tell_made(const Terminal& terminal, const std::function<std::string()>& answer) {
  try {
    terminal.answer(answer());
    return exit_done;
  } catch (const std::exception& problem) {
    terminal.say(fmt::format("warning: the change is made, but its answer is lost: {}", tare::escaped(problem.what())));
    return exit_untold;
  }
}
