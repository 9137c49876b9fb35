// Where the transactions of a checkpoint can be recorded.
#pragma once

#include <string>

#include "lib/transaction/scope.hpp"

namespace tare {

/// One checkpoint. A file of a distributed one stands for its folder: what was edited under its name is recorded there.
/// `key` and `upper`: see Scope.
Scope checkpoint_scope(FileLayer& files, const std::string& path, const JournalKey& key, const std::string& upper = {});

}  // namespace tare
