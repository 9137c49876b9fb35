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

/// The function that tells whether the words so far lead to the verb of its arguments: what is called like a verb, and
/// stands where none can, leads nowhere. In it stand all verbs, each with those that lead to it.
constexpr const char* leads_begin = R"(function __tare_leads_to
    set -l led
    for word in (commandline -opc)
        switch "$led $word"
            case)";
constexpr const char* leads_end = R"(
                set led (string trim -- "$led $word")
        end
    end
    test "$led" = "$argv"
end
)";

/// ` 'fp8 strip'` for each verb below `verb`, to which `led` leads.
std::string quoted_paths(const Verb& verb, const std::string& led) {
  std::string text;
  for (const Verb& inner : verb.verbs) {
    const std::string path = led + " " + inner.name;
    text += " " + quoted(path) + quoted_paths(inner, led.empty() ? inner.name : path);
  }
  return text;
}

/// `led`: the verbs that lead to `verb`, itself included, each with a space in front.
std::string rows(const Verb& verb, const std::string& led) {
  const std::string here = "__tare_leads_to" + led;
  std::string text;
  for (const Verb& inner : verb.verbs) {
    text += row(here, fmt::format("-f -a {} -d {}", inner.name, quoted(inner.purpose)));
  }
  for (const Option& option : verb.options) {
    const std::vector<std::string> words = words_for(option);
    if (!is_placed(option)) text += option_row(here, option);
    if (is_placed(option) && !words.empty())
      text += row(here, "-a " + quoted(fmt::format("{}", fmt::join(words, " "))));
  }
  for (const Verb& inner : verb.verbs) text += rows(inner, led + " " + inner.name);
  return text;
}

}  // namespace

std::string fish_completion(const Verb& command) {
  return "# fish completion for tare\n" + (leads_begin + quoted_paths(command, "")) + leads_end + rows(command, "");
}
