// Megatron-core's `integrity.json`: SHA-256 digests of all files of a checkpoint, which a run started with
// --verify-integrity holds the files against. An edit renews those of the files that it changes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/transaction/transaction.hpp"

namespace tare {

struct IntegrityOptions {
  bool force = false;  ///< renew a digest also where the file was not what it says before the edit
  /// Called with a sentence before a file is read for its digest that takes seconds to read.
  std::function<void(const std::string&)> announce;
  const Files* files = &local_files();  ///< where they are; borrowed
};

/// The edits of all manifests that cover files of `edits`; they belong behind those. Throws `corrupt` where a file is
/// not what its manifest says, and for a manifest that is no JSON or lists something else than digests; `unsupported`
/// where it uses another algorithm.
std::vector<FileEdit> renewed_manifests(const std::vector<FileEdit>& edits, const IntegrityOptions& options);

}  // namespace tare
