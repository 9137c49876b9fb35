#include "tools/describe/whole.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace {

Option asks(const char* names, const char* purpose) {
  return {names, static_cast<bool*>(nullptr), purpose};
}

void add_help(Verb& verb) {
  verb.options.push_back(asks("-h,--help", "Print this help message and exit"));
  for (Verb& inner : verb.verbs) add_help(inner);
}

bool is_command(const Option& option) {
  return std::string_view(option.names) == "COMMAND";
}

/// Verbs of which nothing is left but what they are called.
std::vector<Verb> names_of_verbs(const std::vector<Verb>& verbs) {
  std::vector<Verb> names;
  for (const Verb& verb : verbs) {
    Verb& name = names.emplace_back();
    name.name = verb.name;
    name.purpose = verb.purpose;
    name.verbs = names_of_verbs(verb.verbs);
  }
  return names;
}

}  // namespace

Verb whole(Verb command) {
  add_help(command);
  command.options.push_back(asks("-V,--version", "Display program version information and exit"));
  return command;
}

Verb with_commands_as_words(Verb command) {
  const std::vector<Verb> words = names_of_verbs(command.verbs);
  for (Verb& verb : command.verbs) {
    if (std::erase_if(verb.options, is_command) != 0) verb.verbs = words;
  }
  return command;
}
