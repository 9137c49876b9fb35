#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/describe/describe.hpp"
#include "tools/describe/option_names.hpp"

namespace {

/// Inside '...' of zsh, and there between brackets or colons of _arguments.
std::string quoted_inside(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\'') {
      out += "'\\''";
    } else {
      if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') out += '\\';
      out += letter;
    }
  }
  return out;
}

/// Words from a list; behind those that end with "=" no blank is set, as their value follows.
std::string action_of(const std::vector<std::string>& words) {
  if (words.empty()) return "_files";
  const std::string all = fmt::format("{}", fmt::join(words, " "));
  return words.front().ends_with('=') ? "compadd -S \"\" - " + all : "(" + all + ")";
}

/// What may stand there: ":NAME:(WORDS)", or files.
std::string argument(const Option& option, const std::string& name) {
  return fmt::format(":{}:{}", quoted_inside(name), action_of(words_for(option)));
}

std::string specification(const Option& option) {
  const std::vector<std::string> names = names_of(option);
  if (is_placed(option)) {
    return fmt::format("'{}{}'", is_repeated(option) ? "*" : "", argument(option, names.front()));
  }
  std::string all;
  for (const std::string& name : names) {
    const std::string value = takes_value(option) ? (name.starts_with("--") ? "=" : "+") : "";
    const std::string apart = is_repeated(option) ? "*" : fmt::format("({})", fmt::join(names, " "));
    all += fmt::format("{}'{}{}{}[{}]{}'", all.empty() ? "" : " ", apart, name, value, quoted_inside(option.purpose),
                       takes_value(option) ? argument(option, value_name(option)) : "");
  }
  return all;
}

std::string described(const std::vector<Verb>& verbs) {
  std::string text;
  for (const Verb& verb : verbs) text += fmt::format("        '{}:{}'\n", verb.name, quoted_inside(verb.purpose));
  return text;
}

/// A function for `verb`, behind those of its own verbs. `name`: with all that leads to it, "_tare_fp8".
std::string function_of(const Verb& verb, const std::string& name) {
  std::string text;
  for (const Verb& inner : verb.verbs) text += function_of(inner, name + "_" + inner.name);
  text += name + "() {\n";
  if (!verb.verbs.empty()) text += "  local curcontext=$curcontext state line\n  typeset -A opt_args\n";
  text += fmt::format("  _arguments {}-s -S", verb.verbs.empty() ? "" : "-C ");
  for (const Option& option : verb.options) text += " \\\n    " + specification(option);
  if (!verb.verbs.empty()) text += " \\\n    '1:command:->command' '*::argument:->argument'";
  text += "\n";
  if (!verb.verbs.empty()) {
    text += fmt::format(
        "  case $state in\n    command)\n      local -a commands=(\n{}      )\n      _describe command commands\n      "
        ";;\n"
        "    argument) (( $+functions[{}_$line[1]] )) && {}_$line[1] ;;\n  esac\n",
        described(verb.verbs), name, name);
  }
  return text + "}\n\n";
}

}  // namespace

std::string zsh_completion(const Verb& command) {
  return "#compdef tare\n\n_tare_help() { _tare }\n\n" + function_of(command, "_tare") +
         "if [ \"$funcstack[1]\" = _tare ]; then _tare \"$@\"; else compdef _tare tare; fi\n";
}
