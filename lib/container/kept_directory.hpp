// What was read of a container's directory serves again where its file, or one of its files, has changed.
#pragma once

#include <memory>

#include "lib/container/container.hpp"
#include "lib/container/source_folder.hpp"

namespace tare {

/// Of a container of several files whose first one says where everything is.
class KeptDirectory {
 public:
  virtual ~KeptDirectory() = default;
  /// The container as it was opened first, of the files in `folder`. REQUIRES: the first of them is as it was. Throws
  /// what opening throws.
  [[nodiscard]] virtual std::unique_ptr<Container> open(const SourceFolder& folder) const = 0;
};

class WithDirectory {
 public:
  virtual ~WithDirectory() = default;
  /// Outlives the container.
  [[nodiscard]] virtual std::shared_ptr<const KeptDirectory> directory() const = 0;
};

/// Of a container of one file, an archive.
class KeptArchive {
 public:
  virtual ~KeptArchive() = default;
  /// The container of the file as it is in `later`. REQUIRES: the containers that this is of, and that it opened, are
  /// gone. Throws what opening throws.
  [[nodiscard]] virtual std::unique_ptr<Container> open(std::shared_ptr<const Source> later) = 0;
};

class WithArchive {
 public:
  virtual ~WithArchive() = default;
  /// Outlives the container.
  [[nodiscard]] virtual std::shared_ptr<KeptArchive> archive() const = 0;
};

}  // namespace tare
