#include <fmt/format.h>

#include <map>
#include <memory>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "tools/describe/describe.hpp"
#include "tools/describe/whole.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

constexpr const char* this_release = "tare " TARE_VERSION;

std::string page_named(const Verb& command, const std::string& name) {
  if (name.empty()) return command_page(command, this_release);
  for (const Verb& verb : command.verbs) {
    if (verb.name == name) return verb_page(command, verb, this_release);
  }
  throw Error(Status::invalid_argument, fmt::format("there is no command '{}'", escaped(name)),
              "tare --help lists them");
}

}  // namespace

Verb completion_verb(const Verb& command) {
  using Script = std::string (*)(const Verb&);
  static const std::map<std::string, Script> scripts{
      {"bash", bash_completion}, {"fish", fish_completion}, {"zsh", zsh_completion}};
  auto shell = std::make_shared<std::string>();
  return {
      .name = "completion",
      .purpose = "Print what a shell loads to complete tare's commands and options",
      .options = {{"SHELL",
                   OneOf{"SHELL", {"bash", "zsh", "fish"}, [shell](const std::string& word) { *shell = word; }},
                   "bash, zsh or fish", Presence::required}},
      .closing_words =
          "Examples:\n"
          "  source <(tare completion bash)\n"
          "  tare completion zsh >\"${fpath[1]}/_tare\"\n"
          "  tare completion fish >~/.config/fish/completions/tare.fish",
      .run =
          [&command, shell](const Terminal& terminal) {
            terminal.answer(scripts.at(*shell)(whole(command)));
            return exit_done;
          },
  };
}

Verb manual_verb(const Verb& command) {
  auto name = std::make_shared<std::string>();
  return {
      .name = "manual",
      .purpose = "Print a manual page, of tare or of one of its commands",
      .options = {{"COMMAND", name.get(), "Of which command; without one, of tare"}},
      .closing_words =
          "Examples:\n"
          "  tare manual edit | man -l -\n"
          "  tare manual >tare.1",
      .run =
          [&command, name](const Terminal& terminal) {
            terminal.answer(page_named(whole(command), *name));
            return exit_done;
          },
  };
}
