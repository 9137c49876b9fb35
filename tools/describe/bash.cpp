#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "tools/describe/describe.hpp"
#include "tools/describe/option_names.hpp"

namespace {

/// `led`: the names of the verbs so far; the loop follows the words that lead further, and passes over values. What
/// COMP_WORDBREAKS has in it (= and :) is a word of its own, and the one behind it belongs to the one in front.
constexpr const char* begin = R"(# bash completion for tare
_tare() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} led= places=0 words= assigns= i
  if [ "$word" = = ]; then
    word= assigns=yes
  elif [ "$before" = = ]; then
    before=${COMP_WORDS[COMP_CWORD - 2]} assigns=yes
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$led ${COMP_WORDS[i]}" in
)";
constexpr const char* behind_verbs = R"( led="${led:+$led }${COMP_WORDS[i]}" ;;
      *" ="|*" :") ((++i)) ;;
)";
constexpr const char* behind_options = R"( [ "${COMP_WORDS[i + 1]}" = = ] || ((++i)) ;;
      *" -"*) ;;
      *) ((++places)) ;;
    esac
  done
  COMPREPLY=()
  case "$led $before" in
)";
constexpr const char* behind_values = R"(    *) [ -z "$assigns" ] || return ;;
  esac
  if [ -z "$words" ]; then
    case "$led" in
)";
constexpr const char* script_end = R"(    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  case ${COMPREPLY[0]-} in *=) compopt -o nospace ;; esac
}
complete -o default -F _tare tare
)";

class Script {
 public:
  explicit Script(const Verb& command) { visit(command, ""); }

  [[nodiscard]] std::string text() const {
    return fmt::format("{}      {}){}      {}){}{}{}{}{}", begin, fmt::join(paths_, "|"), behind_verbs,
                       fmt::join(with_value_, "|"), behind_options, values_, behind_values, cases_, script_end);
  }

 private:
  /// `led`: the names of verbs that lead to `verb`, itself included.
  void visit(const Verb& verb, const std::string& led) {
    std::vector<std::string> options;
    std::string places;
    int place = 0;
    for (const Option& option : verb.options) {
      const std::vector<std::string> words = words_for(option);
      if (is_placed(option)) {
        if (!words.empty())
          places += fmt::format("          *) ((places >= {})) && words=\"{}\" ;;\n", place, fmt::join(words, " "));
        ++place;
        continue;
      }
      std::ranges::copy(names_of(option), std::back_inserter(options));
      if (takes_value(option)) add_value(led, option, words);
    }
    add_case(verb, led, options, places);
    for (const Verb& inner : verb.verbs) {
      paths_.push_back(fmt::format("\"{} {}\"", led, inner.name));
      visit(inner, led.empty() ? inner.name : led + " " + inner.name);
    }
  }

  /// Behind an option whose words are not known stands anything: a file, as bash completes it by itself.
  void add_value(const std::string& led, const Option& option, const std::vector<std::string>& words) {
    std::vector<std::string> patterns;
    for (const std::string& name : names_of(option)) patterns.push_back(fmt::format("\"{} {}\"", led, name));
    std::ranges::copy(patterns, std::back_inserter(with_value_));
    const std::string what = words.empty() ? "return" : fmt::format("words=\"{}\"", fmt::join(words, " "));
    values_ += fmt::format("    {}) {} ;;\n", fmt::join(patterns, "|"), what);
  }

  void add_case(const Verb& verb, const std::string& led, const std::vector<std::string>& options,
                const std::string& places) {
    std::vector<std::string> verbs;
    for (const Verb& inner : verb.verbs) verbs.emplace_back(inner.name);
    cases_ += fmt::format("      \"{}\")\n        case $word in\n          -*) words=\"{}\" ;;\n", led,
                          fmt::join(options, " "));
    if (!verbs.empty()) cases_ += fmt::format("          *) words=\"{}\" ;;\n", fmt::join(verbs, " "));
    cases_ += places + "        esac\n        ;;\n";
  }

  std::vector<std::string> paths_;
  std::vector<std::string> with_value_;
  std::string values_;
  std::string cases_;
};

}  // namespace

std::string bash_completion(const Verb& command) {
  return Script(command).text();
}
