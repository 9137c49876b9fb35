#include "tools/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "lib/base/nearest.hpp"
#include "lib/base/text.hpp"
#include "tools/standard_streams.hpp"
#include "tools/verb.hpp"

namespace {

bool any_command(const CLI::App*) {
  return true;
}

/// `tare help edit` asks what `tare edit --help` does. CLI11 wants the words without the program's, the last one first.
std::vector<std::string> reversed(std::span<char* const> words) {
  std::vector<std::string> reversed(words.begin(), words.end());
  if (!reversed.empty() && reversed.front() == "help") {
    reversed.erase(reversed.begin());
    reversed.emplace_back("--help");
  }
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

void say_no_command(const std::string& word, const std::vector<std::string>& names) {
  const Terminal terminal;
  const std::string_view meant = tare::nearest(word, names);
  terminal.say(fmt::format("tare: there is no command '{}'", tare::escaped(word)));
  terminal.say(fmt::format("hint: {}the commands are {}",
                           meant.empty() ? "" : fmt::format("did you mean '{}'? ", meant), fmt::join(names, ", ")));
}

/// Says so where the first word is no command of `app`, or the second none of `tare fp8`: CLI11 would only say that
/// there is none. `words` are reversed; `before`: those that lead to `app`, each with a space behind it.
bool starts_with_command(CLI::App& app, const std::string& before, std::span<const std::string> words) {
  if (words.empty()) {
    Terminal().say(app.help());
    return false;
  }
  if (words.back().starts_with('-')) return true;
  std::vector<std::string> names;
  for (CLI::App* command : app.get_subcommands(any_command)) {
    const std::string name = before + command->get_name();
    if (command->get_name() == words.back()) {
      return command->get_subcommands(any_command).empty() ||
             starts_with_command(*command, name + ' ', words.first(words.size() - 1));
    }
    names.push_back(name);
  }
  say_no_command(before + words.back(), names);
  return false;
}

/// CLI11 repeats words as they are, and a word may be the name of a file: `tare inspect *`.
std::string usage_message(const CLI::App*, const CLI::Error& error) {
  return fmt::format("tare: {}\nhint: run with --help for more information\n", tare::escaped(error.what()));
}

/// What --help and --version ask for, or what is wrong. Returns the exit code.
int tell_of_words(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = app.exit(error, out, err);
  if (code != 0) {
    write_to(stderr, err.str());
    return exit_usage;
  }
  if (write_to(stdout, out.str())) return exit_done;
  Terminal().say(fmt::format("tare: standard output: {}", std::generic_category().message(errno)));
  return exit_failed;
}

}  // namespace

void add_terminal_options(CLI::App& app, TerminalOptions& options) {
  static const std::map<std::string, Colour> colours = {
      {"auto", Colour::automatic}, {"always", Colour::always}, {"never", Colour::never}};
  app.add_option_function<std::string>(
         "--color", [&options](const std::string& when) { options.colour = colours.at(when); },
         "auto, always or never; auto heeds NO_COLOR and CLICOLOR")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->type_name("WHEN");
  app.add_flag("-q,--quiet", options.is_quiet, "Beside the answer, say only what went wrong");
  app.add_flag("-v,--verbose", options.is_verbose, "Also say which files were read");
  for (CLI::App* command : app.get_subcommands(any_command)) add_terminal_options(*command, options);
}

std::optional<int> parse_words(CLI::App& app, std::span<char* const> words) {
  app.failure_message(usage_message);
  std::vector<std::string> rest = reversed(words.empty() ? words : words.subspan(1));
  if (!starts_with_command(app, "", rest)) return exit_usage;
  try {
    app.parse(rest);
  } catch (const CLI::ParseError& error) {
    return tell_of_words(app, error);
  }
  return std::nullopt;
}
