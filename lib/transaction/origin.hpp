// Who made an edit: for people, who read it in the history.
#pragma once

#include <span>
#include <string>

namespace tare {

struct Origin {
  std::string user;
  std::string host;
  std::string command;  ///< the command line, or what the program calls itself
};

/// The words of a command line, in quotes where they need them, to be given to a shell again. Of more than a journal
/// keeps the first words, as a shell's comment: pasted it runs nothing, where fewer words might change other files.
std::string recorded_command(std::span<char* const> words);

/// This process's; `command` is cut where it is longer than any that a journal keeps.
Origin this_origin(std::string command);

/// A name for an edit that no other one has: 12 hexadecimal digits by chance.
std::string new_edit_id();

}  // namespace tare
