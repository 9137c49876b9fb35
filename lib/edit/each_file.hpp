// The files of a transaction, several at once: none depends on another, and most of the time goes into syncs.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <vector>

#include "lib/edit/file_layer.hpp"

namespace tare {

/// What became of each file, by number.
struct FileOutcomes {
  std::vector<char> begun;                   ///< 1: the task was called
  std::vector<std::exception_ptr> failures;  ///< null: it did not fail

  /// Throws the failure of the lowest number, if there is one.
  void rethrow() const;
};

/// Calls `task` for 0 to `count` - 1, by several threads where `files` can be shared and calls are slow. After a
/// failure no further one is begun.
FileOutcomes for_each_file(const FileLayer& files, std::size_t count, const std::function<void(std::size_t)>& task);

}  // namespace tare
