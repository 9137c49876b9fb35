// What an option looks like to whoever types it, taken from its row of the table.
#pragma once

#include <string>
#include <vector>

#include "tools/option.hpp"

/// "-y,--yes" is -y and --yes; of what goes by its place ("PATH") the one name that it has in a usage line.
std::vector<std::string> names_of(const Option& option);

/// Whether it goes by its place, and has no name that is written.
bool is_placed(const Option& option);

/// Whether a word follows it.
bool takes_value(const Option& option);

/// Whether it may be given, or followed by words, several times.
bool is_repeated(const Option& option);

/// What that word is called: WHEN, NUMBER, TEXT.
std::string value_name(const Option& option);

/// The words that may stand there: of a choice all; of a key the roles, of an assignment those with "=". Empty where
/// anything may.
std::vector<std::string> words_for(const Option& option);
