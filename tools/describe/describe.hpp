// The command described for others than its own --help, from the same tables: what shells complete, and manual pages.
#pragma once

#include <string>

#include "tools/verb.hpp"

/// Scripts that the shells of these names load. `command` is the whole, with all its verbs.
std::string bash_completion(const Verb& command);
std::string zsh_completion(const Verb& command);
std::string fish_completion(const Verb& command);

/// A page of section 1 in roff's man macros: of `command` itself, or of a verb that `name`, "tare fp8 strip", leads to.
/// `release` stands in its foot.
std::string command_page(const Verb& command, const std::string& release);
std::string verb_page(const std::string& name, const Verb& verb, const std::string& release);
