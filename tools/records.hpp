// Where the edits of a path are on record: beside files, or in a store.
#pragma once

#include <ctime>
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

/// Throws `io` where nothing is at `path` and nothing is on record of it.
void require_known(const std::string& path, const Records& records);

/// Whether files at `path`, of this machine, were edited or taken back by a tare since then, as far as a history is
/// kept.
bool was_edited_since(const std::string& path, timespec moment);
