// Where the edits of a path are on record: beside files, or in a store.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "lib/transaction/history.hpp"

struct Records {
  std::optional<tare::Pending> pending;
  /// Calls with each, oldest first.
  std::function<void(const std::function<void(const tare::HistoryEntry&)>&)> tell;
};

/// Of a checkpoint that could be changed; throws as objects_to_change.
Records records_of(const std::string& path);
