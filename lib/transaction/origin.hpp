// Who made an edit: for people, who read it in the history.
#pragma once

#include <string>

namespace tare {

struct Origin {
  std::string user;
  std::string host;
  std::string command;  ///< the command line, or what the program calls itself
};

/// This process's; `command` is cut where it is longer than any that a journal keeps.
Origin this_origin(std::string command);

/// A name for an edit that no other one has: 12 hexadecimal digits by chance.
std::string new_edit_id();

}  // namespace tare
