#include "tools/describe/whole.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace {

Option asks(const char* names, const char* purpose) {
  return {names, static_cast<bool*>(nullptr), purpose};
}

void complete(Verb& verb, const std::vector<std::string>& commands) {
  for (Option& option : verb.options) {
    if (std::string_view(option.names) == "COMMAND") option.target = OneOf{"COMMAND", commands, {}};
  }
  verb.options.push_back(asks("-h,--help", "Print this help message and exit"));
  for (Verb& inner : verb.verbs) complete(inner, commands);
}

}  // namespace

Verb whole(Verb command) {
  std::vector<std::string> names;
  for (const Verb& verb : command.verbs) names.emplace_back(verb.name);
  complete(command, names);
  command.options.push_back(asks("-V,--version", "Display program version information and exit"));
  return command;
}
