// Files each of whose calls is a round trip to somewhere else.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "lib/base/files.hpp"

namespace tare {

struct FileVersion {
  std::string path;
  std::string version;  ///< as its source calls it
};

class DistantFiles : public Files {
 public:
  /// So many calls and reads may be under way at the same time, from 1 on.
  [[nodiscard]] virtual std::size_t most_at_once() const = 0;
  /// All folders below `folder` are going to be listed: what can list many at once may do so.
  virtual void expect_all_below(const std::string& /*folder*/) const {}
  /// Does list() tell all that is in `folder`? Of a server that lists nothing it tells what was found by its name.
  [[nodiscard]] virtual bool lists_all(const std::string& /*folder*/) const { return true; }
  /// Did one list, of one moment and made before, tell that `absent` is not in `folder`, and that these were the
  /// versions of `files`, which are in it? Then what was read is what was there at that moment.
  [[nodiscard]] virtual bool was_all_there_without(const std::string& /*folder*/, const std::string& /*absent*/,
                                                   std::span<const FileVersion> /*files*/) const {
    return false;
  }
};

bool is_distant(const Files& files);

/// How many calls and reads at the same time are worth it: of files that may not be shared 1, of DistantFiles what they
/// say, of all others what a disk takes.
std::size_t most_at_once(const Files& files);

/// Does list() tell all that is in `folder`? As DistantFiles say; of all others it does.
bool lists_all(const Files& files, const std::string& folder);

}  // namespace tare
