// The other files of this installation: modules, and tare-remote.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tare {

/// A file that may be opened or run as a part of tare, or why there is none: in words, of every place where one lies.
struct Companion {
  std::string path;  ///< absolute, without links; empty where there is none
  std::string reason;
};

/// Looks for `file_name` in `folders`, which are given from the folder that this library or program lies in, never from
/// the current one. What lies there must be of this `release` and nobody else's to write (lib/base/trust.hpp): both are
/// known before anything in it runs.
Companion find_companion(std::string_view file_name, std::span<const char* const> folders, std::string_view release);

}  // namespace tare
