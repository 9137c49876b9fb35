// The files of a transaction, several at once: none depends on another, and most of the time goes into syncs.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <vector>

#include "lib/transaction/store.hpp"

namespace tare {

/// What became of each file, by number.
struct FileOutcomes {
  std::vector<char> begun;                   ///< 1: the task was called
  std::vector<std::exception_ptr> failures;  ///< null: it did not fail

  /// Throws the failure of the lowest number, if there is one.
  void rethrow() const;
};

enum class Direction { forth, back };

/// Calls `task` for each of `numbers` of the journal's files as for_each_file does, in two turns. A file that is
/// rewritten may say where something is in the others (a distributed checkpoint's metadata): going forth it comes after
/// them, going back before, so that it never points to what is not there. Outcomes are those of `numbers`, in their
/// order. Once the first task is called nothing is thrown.
FileOutcomes for_each_in_turn(const Store& store, const Journal& journal, const std::vector<std::size_t>& numbers,
                              Direction direction, const std::function<void(std::size_t number)>& task);

/// Calls `task` for 0 to `count` - 1, by several threads where `files` can be shared and calls are slow. After a
/// failure no further one is begun.
FileOutcomes for_each_file(const FileLayer& files, std::size_t count, const std::function<void(std::size_t)>& task);

}  // namespace tare
