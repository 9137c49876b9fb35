// The answer of `ls`: a document a checkpoint.
#pragma once

#include <optional>
#include <string>

#include "lib/trace/listed.hpp"
#include "lib/transaction/recover.hpp"

namespace tare {

/// "tare.ls/1", on one line with its end. `pending`: an edit of it that is not finished.
std::string listed_line(const ListedCheckpoint& checkpoint, const std::optional<Pending>& pending);

}  // namespace tare
