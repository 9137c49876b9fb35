#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/describe/describe.hpp"
#include "tools/describe/option_names.hpp"

namespace {

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') out += '\\';
    out += letter;
  }
  return out + "'";
}

std::string row(const std::string& when, const std::string& what) {
  return fmt::format("complete -c tare -n {} {}\n", quoted(when), what);
}

std::string option_row(const std::string& when, const Option& option) {
  std::string what;
  for (const std::string& name : names_of(option)) {
    what += name.starts_with("--") ? fmt::format("-l {} ", name.substr(2)) : fmt::format("-s {} ", name.substr(1));
  }
  const std::vector<std::string> words = words_for(option);
  if (takes_value(option))
    what += words.empty() ? "-r " : fmt::format("-xa {} ", quoted(fmt::format("{}", fmt::join(words, " "))));
  return row(when, what + "-d " + quoted(option.purpose));
}

/// `when`: the test that the words so far lead to `verb`.
std::string rows(const Verb& verb, const std::string& when) {
  std::string text;
  std::string names;
  for (const Verb& inner : verb.verbs) names += std::string(names.empty() ? "" : " ") + inner.name;
  const std::string here = names.empty() ? when : when + "; and not __fish_seen_subcommand_from " + names;
  text += row(here, "-s h -l help -d Help");
  for (const Verb& inner : verb.verbs) {
    text += row(here, fmt::format("-f -a {} -d {}", inner.name, quoted(inner.purpose)));
  }
  for (const Option& option : verb.options) {
    const std::vector<std::string> words = words_for(option);
    if (!is_placed(option)) text += option_row(here, option);
    if (is_placed(option) && !words.empty())
      text += row(here, "-a " + quoted(fmt::format("{}", fmt::join(words, " "))));
  }
  for (const Verb& inner : verb.verbs) text += rows(inner, when + "; and __fish_seen_subcommand_from " + inner.name);
  return text;
}

}  // namespace

std::string fish_completion(const Verb& command) {
  return "# fish completion for tare\n" + rows(command, "true");
}
