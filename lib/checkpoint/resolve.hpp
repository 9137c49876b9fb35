// A run directory -> the checkpoint in it that the framework itself would resume from.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/files.hpp"
#include "lib/base/finding.hpp"

namespace tare {

/// A run would be resumed from `link`, which leads out of it. Its status is `refused`.
class LinkNotFollowed final : public Error {
 public:
  LinkNotFollowed(std::string path, const std::string& message)
      : Error(Status::refused, message, "give it by its own name, " + path + ", or another save"),
        link(std::move(path)) {}

  std::string link;
};

/// The folder or file to read below `directory`, as a relative path ("" for itself); says in `findings` what led there.
/// What a pointer file names is followed only where it is a plain name of something inside. Throws `refused` for any
/// other name, LinkNotFollowed where the save is a link that leads out of the run, `not_found` where a pointer names
/// what is not there.
std::string resolve_run(const Files& files, const std::string& directory, std::vector<Finding>& findings);

/// The runs below `directory`, however deep, that all of `names` (relative paths of files in it) lie in; empty where
/// one of them lies in none. Throws as resolve_run does.
std::vector<std::string> runs_below(const Files& files, const std::string& directory,
                                    const std::vector<std::string>& names);

}  // namespace tare
