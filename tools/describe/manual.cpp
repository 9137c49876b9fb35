#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "tools/describe/describe.hpp"
#include "tools/describe/option_names.hpp"

namespace {

/// What roff prints as another letter, or takes for its own, and how it is written to be printed as it is.
constexpr std::array<std::pair<char, std::string_view>, 6> escapes{
    {{'\\', "\\e"}, {'-', "\\-"}, {'\'', "\\(aq"}, {'^', "\\(ha"}, {'~', "\\(ti"}, {'`', "\\(ga"}}};

/// Text as roff prints it; a dot that begins a line is no request.
std::string plain(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '.' && (out.empty() || out.back() == '\n')) out += "\\&";
    const auto* const escape = std::ranges::find(escapes, letter, &std::pair<char, std::string_view>::first);
    out += escape == escapes.end() ? std::string_view(&letter, 1) : escape->second;
  }
  return out;
}

std::string in_capitals(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

std::string head(const std::string& name, const std::string& release) {
  return fmt::format(".TH {} 1 \"\" \"{}\" \"tare\"\n", name, plain(release));
}

std::string value_of(const Option& option) {
  const std::vector<std::string> words = words_for(option);
  return words.empty() ? value_name(option) : fmt::format("{}", fmt::join(words, "|"));
}

/// "PATH [ASSIGNMENT...]"
std::string places_of(const Verb& verb) {
  std::string text;
  for (const Option& option : verb.options) {
    if (!is_placed(option)) continue;
    const std::string several = is_repeated(option) ? "..." : "";
    const std::string name = "\\fI" + plain(option.names) + "\\fR" + several;
    text += option.presence == Presence::required ? " " + name : " [" + name + "]";
  }
  return text;
}

std::string entry(const Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : names_of(option)) {
    names.push_back((is_placed(option) ? "\\fI" : "\\fB") + plain(name) + "\\fR");
  }
  const std::string value = is_placed(option) || !takes_value(option) ? "" : " \\fI" + plain(value_of(option)) + "\\fR";
  return fmt::format(".TP\n{}{}\n{}\n", fmt::join(names, ", "), value, plain(option.purpose));
}

/// Those without a heading first: behind one all stand below it.
std::string options_of(const Verb& verb) {
  OptionTable options = verb.options;
  std::stable_partition(options.begin(), options.end(), [](const Option& option) { return *option.heading == '\0'; });
  std::string text;
  const char* heading = "";
  for (const Option& option : options) {
    if (std::string_view(heading) != option.heading) text += fmt::format(".SS {}\n", option.heading);
    heading = option.heading;
    text += entry(option);
  }
  return text;
}

/// As it stands: examples and tables.
std::string words_of(const Verb& verb) {
  return *verb.closing_words == '\0' ? "" : fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", plain(verb.closing_words));
}

std::string listed(const std::vector<Verb>& verbs, const std::string& before) {
  std::string text;
  for (const Verb& verb : verbs) text += fmt::format(".TP\n\\fB{}{}\\fR\n{}\n", before, verb.name, plain(verb.purpose));
  return text;
}

std::string synopsis(const std::string& name, const Verb& verb) {
  return fmt::format(".SH SYNOPSIS\n\\fB{}\\fR [\\fIOPTION\\fR...]{}{}\n", plain(name), places_of(verb),
                     verb.verbs.empty() ? "" : " \\fICOMMAND\\fR");
}

}  // namespace

std::string command_page(const Verb& command, const std::string& release) {
  std::string see;
  for (const Verb& verb : command.verbs)
    see += fmt::format("{}\\fBtare\\-{}\\fR(1)", see.empty() ? "" : ",\n", verb.name);
  return head("TARE", release) + ".SH NAME\ntare \\- loss\\-scaler state inside checkpoints\n" +
         synopsis("tare", command) + ".SH DESCRIPTION\n" + plain(command.purpose) + ".\n.SH COMMANDS\n" +
         listed(command.verbs, "") + ".SH OPTIONS\n" + options_of(command) + words_of(command) + ".SH SEE ALSO\n" +
         see + "\n";
}

std::string verb_page(const std::string& name, const Verb& verb, const std::string& release) {
  std::string page = name;
  std::ranges::replace(page, ' ', '-');
  std::string text = head(in_capitals(page), release) +
                     fmt::format(".SH NAME\n{} \\- {}\n", plain(page), plain(verb.purpose)) + synopsis(name, verb) +
                     ".SH DESCRIPTION\n" + plain(verb.purpose) + ".\n";
  if (!verb.verbs.empty()) text += ".SH COMMANDS\n" + listed(verb.verbs, "");
  text += ".SH OPTIONS\n" + options_of(verb);
  for (const Verb& inner : verb.verbs) {
    text += fmt::format(".SH \"{} {}\"\n{}.\n.PP\n\\fB{} {}\\fR [\\fIOPTION\\fR...]{}\n", plain(name), inner.name,
                        plain(inner.purpose), plain(name), inner.name, places_of(inner)) +
            options_of(inner);
  }
  return text + words_of(verb) + ".SH SEE ALSO\n\\fBtare\\fR(1)\n";
}
