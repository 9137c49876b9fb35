// The answer of `ls`: a document a checkpoint.
#pragma once

#include <string>

#include "lib/trace/listed.hpp"

namespace tare {

/// "tare.ls/1", on one line with its end.
std::string listed_line(const ListedCheckpoint& checkpoint);

}  // namespace tare
