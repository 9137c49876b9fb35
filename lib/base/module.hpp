// Our own modules: shared libraries that are opened when they are first needed, so that loading libtare brings nothing
// of others into a process.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "lib/base/error.hpp"

namespace tare {

/// `unsupported` of a program that is linked statically: another build of it opens modules.
struct NoLoader : Error {
  using Error::Error;
};

/// An opened module and the function by that name in it.
struct Module {
  std::string path;
  void* entry;  ///< null where the file has none
};

/// Looks beside the library or command that this code is part of, then in `tare/` and where an installation has its
/// libraries, as find_companion does: nothing runs before it is known to be of this `release` and nobody else's to
/// write. Throws `unsupported` with what is wrong with each file that was found; `hint` goes with it.
Module open_module(std::string_view file_name, const char* entry, std::string_view release, const std::string& hint);

/// The table of functions that a module gives out: its first members are `struct_size` and `release`, and both must be
/// ours. Opened on the first call and then kept.
template <class Table>
class ModuleTable {
 public:
  struct Names {
    std::string_view file;
    const char* entry;  ///< a function without parameters that gives the table
    std::string_view release;
    std::string hint;
  };

  /// Throws `unsupported` where the module cannot be had, or is of another build.
  const Table& get(const Names& names) {
    // Two threads may open it at once: dlopen gives both the same.
    const Table* table = opened_.load(std::memory_order_acquire);
    if (table != nullptr) return *table;
    table = &open(names);
    opened_.store(table, std::memory_order_release);
    return *table;
  }

 private:
  static const Table& open(const Names& names) {
    const Module module = open_module(names.file, names.entry, names.release, names.hint);
    const auto entry = reinterpret_cast<const Table* (*)()>(module.entry);
    const Table* table = entry == nullptr ? nullptr : entry();
    if (table != nullptr && table->struct_size == sizeof(Table) && names.release == table->release) return *table;
    throw Error(Status::unsupported,
                module.path + " is not of this release of tare (" + std::string(names.release) + ")",
                "Install both from one build.");
  }

  std::atomic<const Table*> opened_{nullptr};
};

}  // namespace tare
