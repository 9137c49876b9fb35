// What an edit that is not finished means for whoever reads on, in words.
#pragma once

#include <string>

#include "lib/transaction/recover.hpp"

namespace tare {

/// A sentence or two, then a line for each field or file. Escaped.
std::string pending_text(const Pending& pending);

}  // namespace tare
