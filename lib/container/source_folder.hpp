// The folder of a container that spans several files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/base/source.hpp"

namespace tare {

class SourceFolder {
 public:
  virtual ~SourceFolder() = default;
  /// The file of that name in the folder. Names come out of files: throws `refused` for one that leaves the folder,
  /// `io` where it cannot be opened.
  [[nodiscard]] virtual std::shared_ptr<const Source> open(const std::string& name) const = 0;
  /// Is there such a file? No, for a name that leaves the folder.
  [[nodiscard]] virtual bool has(const std::string& name) const = 0;
  /// The names of the folders in it, in order. Throws `io` where they cannot be listed.
  [[nodiscard]] virtual std::vector<std::string> folders() const { return {}; }
};

}  // namespace tare
