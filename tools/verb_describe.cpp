#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "tools/describe/describe.hpp"
#include "tools/describe/whole.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

constexpr const char* this_release = "tare " TARE_VERSION;

std::string page_named(const Verb& command, const std::vector<std::string>& words) {
  if (words.empty()) return command_page(command, this_release);
  const Verb* verb = &command;
  for (const std::string& word : words) {
    const auto found = std::ranges::find_if(verb->verbs, [&](const Verb& inner) { return inner.name == word; });
    if (found == verb->verbs.end()) {
      throw Error(Status::invalid_argument, fmt::format("there is no command '{}'", fmt::join(words, " ")),
                  "tare --help lists them, and tare fp8 --help its own");
    }
    verb = &*found;
  }
  return verb_page(fmt::format("{} {}", command.name, fmt::join(words, " ")), *verb, this_release);
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
            terminal.answer(scripts.at(*shell)(with_commands_as_words(whole(command))));
            return exit_done;
          },
  };
}

Verb manual_verb(const Verb& command) {
  auto words = std::make_shared<std::vector<std::string>>();
  return {
      .name = "manual",
      .purpose = "Print a manual page, of tare or of one of its commands",
      .options = {{"COMMAND", words.get(), "Of which command: edit, fp8, fp8 strip; without one, of tare"}},
      .closing_words =
          "Examples:\n"
          "  tare manual edit | man -l -\n"
          "  tare manual >tare.1",
      .run =
          [&command, words](const Terminal& terminal) {
            terminal.answer(page_named(whole(command), *words));
            return exit_done;
          },
  };
}
