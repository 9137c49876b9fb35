// How far a file is that is written anew.
#pragma once

#include "lib/transaction/copied.hpp"
#include "tools/terminal.hpp"

/// Shows it on the terminal, which must outlive this.
tare::OnCopied shown_while_copying(const Terminal& terminal);
