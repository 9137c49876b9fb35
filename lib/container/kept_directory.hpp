// A container of several files whose first one says where everything is: what was read of that serves again.
#pragma once

#include <memory>

#include "lib/container/container.hpp"
#include "lib/container/source_folder.hpp"

namespace tare {

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

}  // namespace tare
