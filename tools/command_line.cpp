#include "tools/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include "lib/base/nearest.hpp"
#include "lib/base/text.hpp"
#include "tools/standard_streams.hpp"

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
    Terminal().say(app.help(app.get_parent() == nullptr ? "" : app.get_parent()->get_name()));
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

/// Says so where a word begins as an option and holds, in front of a value, what no option's name does: releases of
/// CLI11 differ on whether that is a path. `words` are reversed.
bool names_its_options(std::span<const std::string> words) {
  const auto is_strange = [](const std::string& word) {
    const std::string_view name = std::string_view(word).substr(0, word.find('='));
    return name.starts_with('-') &&
           std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; });
  };
  for (auto word = words.rbegin(); word != words.rend() && *word != "--"; ++word) {
    if (!is_strange(*word)) continue;
    const Terminal terminal;
    terminal.say(fmt::format("tare: there is no option '{}'", tare::escaped(*word)));
    terminal.say("hint: a path that begins so is given behind --, or with ./ in front");
    return false;
  }
  return true;
}

/// The verb that the words led to.
const CLI::App& innermost(const CLI::App& app) {
  const std::vector<const CLI::App*> led = app.get_subcommands({});
  for (const CLI::App* inner : led) {
    if (inner->parsed()) return innermost(*inner);
  }
  return app;
}

/// The long option that was meant by the last word of a message about words that nothing takes; empty if none is like
/// it.
std::string option_meant_in(const CLI::App& app, const std::string& message) {
  const std::size_t at = message.rfind(" --");
  if (at == message.npos) return {};
  const std::string word = message.substr(at + 1, message.find_first_of("= ", at + 1) - at - 1);
  std::vector<std::string> names;
  for (const CLI::Option* option : innermost(app).get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return std::string(tare::nearest(word, names));
}

/// CLI11 repeats words as they are, and a word may be the name of a file: `tare inspect *`.
std::string usage_message(const CLI::App* app, const CLI::Error& error) {
  const std::string message = error.what();
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const std::string meant = is_extra ? option_meant_in(*app, message) : std::string();
  return fmt::format("tare: {}\nhint: {}run with --help for more information\n", tare::escaped(message),
                     meant.empty() ? "" : fmt::format("did you mean '{}'? ", meant));
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
  const int reason = errno;  // a Terminal looks what stdout is, and leaves an errno of its own
  const bool has_reader = reason != EPIPE;
  if (has_reader) Terminal().say(fmt::format("tare: standard output: {}", std::generic_category().message(reason)));
  return exit_failed;
}

/// Of a path, a key or a pattern. What is optional may be empty: the path of a state that is a whole file is.
const CLI::Validator& not_empty() {
  static const CLI::Validator words(
      [](const std::string& given) { return std::string(given.empty() ? "is empty" : ""); }, "");
  return words;
}

/// CLI11's own tells of the greatest double.
const CLI::Validator& at_least_one() {
  static const CLI::Validator number(
      [](const std::string& given) {
        std::size_t value = 0;
        const char* const end = given.data() + given.size();
        const auto [behind, error] = std::from_chars(given.data(), end, value);
        if (error == std::errc::result_out_of_range) return "is too great: " + given;
        return behind == end && value > 0 ? std::string()
                                          : fmt::format("must be 1 or more{}{}", given.empty() ? "" : ", not ", given);
      },
      "");
  return number;
}

/// An option as CLI11 has it, of a kind for each kind of target.
struct Adder {
  CLI::App& app;
  const Option& option;

  CLI::Option* operator()(bool* flag) const { return app.add_flag(option.names, *flag, option.purpose); }
  CLI::Option* operator()(std::string* text) const {
    return app.add_option(option.names, *text, option.purpose)->check(not_empty());
  }
  CLI::Option* operator()(std::optional<std::string>* text) const {
    const auto set = [text](const std::string& given) { *text = given; };
    return app.add_option_function<std::string>(option.names, set, option.purpose);
  }
  CLI::Option* operator()(std::vector<std::string>* texts) const {
    return app.add_option(option.names, *texts, option.purpose)->check(not_empty());
  }
  CLI::Option* operator()(std::size_t* number) const {
    return app.add_option(option.names, *number, option.purpose)->check(at_least_one());
  }
  CLI::Option* operator()(const Within& number) const {
    return app.add_option_function<std::int64_t>(option.names, number.set, option.purpose)
        ->check(CLI::Range(number.least, number.most));
  }
  CLI::Option* operator()(const OneOf& word) const {
    return app.add_option_function<std::string>(option.names, word.set, option.purpose)
        ->check(CLI::IsMember(word.words).description(""))
        ->type_name(word.name);
  }
};

void add_option(CLI::App& app, const Option& option) {
  CLI::Option* added = std::visit(Adder{app, option}, option.target);
  added->required(option.presence == Presence::required);
  if (*option.heading != '\0') added->group(option.heading);
}

/// Fills `app` with what `verb` takes; where its words name it, or a verb of its own, `run` becomes that one's. What
/// verbs take that no word names nobody will ask for: of them their purpose is enough.
void describe(CLI::App& app, const Verb& verb, std::span<const std::string> words, Run& run) {
  for (const Option& option : verb.options) add_option(app, option);
  for (auto one = verb.exclusive.begin(); one != verb.exclusive.end(); ++one) {
    for (auto other = std::next(one); other != verb.exclusive.end(); ++other) {
      app.get_option(*one)->excludes(app.get_option(*other));
    }
  }
  for (const auto& [option, other] : verb.beside) app.get_option(option)->needs(app.get_option(other));
  if (verb.run) app.callback([&verb, &run] { run = verb.run; });
  if (!verb.verbs.empty()) app.require_subcommand(1);
  for (const Verb& inner : verb.verbs) {
    CLI::App* added = app.add_subcommand(inner.name, inner.purpose);
    if (std::ranges::find(words, inner.name) != words.end()) describe(*added, inner, words, run);
  }
  app.footer(verb.closing_words);
}

/// "--at=" gives the empty text, as an unset variable in --at="$AT" does: in two words here, as CLI11 would take the
/// next word for its value, a path or a command. `reversed`: the last word first.
std::vector<std::string> with_empty_values_apart(const CLI::App& app, const std::vector<std::string>& reversed) {
  std::vector<std::string> apart;
  const CLI::App* verb = &app;
  bool has_options = true;
  for (auto next = reversed.rbegin(); next != reversed.rend(); ++next) {
    const std::string& word = *next;
    has_options = has_options && word != "--";
    const auto inner = verb->get_subcommands([&](const CLI::App* each) { return each->get_name() == word; });
    if (!inner.empty()) verb = inner.front();
    const std::string name = word.substr(0, word.find('='));
    const CLI::Option* option = has_options && word == name + "=" ? verb->get_option_no_throw(name) : nullptr;
    const bool is_empty = option != nullptr && option->get_items_expected_min() > 0;
    apart.push_back(is_empty ? name : word);
    if (is_empty) apart.emplace_back();
  }
  std::ranges::reverse(apart);
  return apart;
}

}  // namespace

void add_terminal_options(Verb& command, TerminalOptions& options) {
  static const std::map<std::string, Colour> colours = {
      {"auto", Colour::automatic}, {"always", Colour::always}, {"never", Colour::never}};
  const auto set_colour = [&options](const std::string& when) { options.colour = colours.at(when); };
  command.options = joined({command.options,
                            {{"--color", OneOf{"WHEN", {"auto", "always", "never"}, set_colour},
                              "auto, always or never; auto heeds NO_COLOR and CLICOLOR"},
                             {"-q,--quiet", &options.is_quiet, "Beside the answer, say only what went wrong"},
                             {"-v,--verbose", &options.is_verbose, "Also say which files were read"}}});
  for (Verb& verb : command.verbs) add_terminal_options(verb, options);
}

std::optional<int> parse_words(const Verb& command, const std::string& version, std::span<char* const> words,
                               Run& run) {
  CLI::App app(command.purpose, command.name);
  app.set_version_flag("-V,--version", version);
  std::vector<std::string> rest = reversed(words.empty() ? words : words.subspan(1));
  describe(app, command, rest, run);
  rest = with_empty_values_apart(app, rest);
  app.failure_message(usage_message);
  if (!starts_with_command(app, "", rest) || !names_its_options(rest)) return exit_usage;
  try {
    app.parse(rest);
  } catch (const CLI::ParseError& error) {
    return tell_of_words(app, error);
  }
  return std::nullopt;
}
