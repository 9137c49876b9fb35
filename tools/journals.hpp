// The user's key, and which journals a verb may act upon.
#pragma once

#include <span>
#include <string>

#include "lib/transaction/recover.hpp"
#include "tools/option.hpp"
#include "tools/terminal.hpp"

/// What belongs to a checkpoint, looked at with the user's key, if he has one: reading makes none.
tare::Scope scope_for_reading(const std::string& path);

/// The same for a verb that writes. Throws `refused` where the key is not the user's alone.
tare::Scope scope_for_writing(const std::string& path);

/// The user's key, if he has one that can be used.
tare::JournalKey key_for_reading();

/// To seal a journal with; made where there is none yet.
tare::JournalKey sealing_key();

/// The words that tare was called with, its own first: they live as long as the process.
void keep_command(std::span<char* const> words);

/// Who runs this command, and how.
tare::Origin origin_of_command();

/// --trust-journal
Option trust_option(tare::RecoverOptions& recovery);

/// `recovery`, which tells on stderr what a trusted journal writes.
tare::RecoverOptions announced(const Terminal& terminal, tare::RecoverOptions recovery);
